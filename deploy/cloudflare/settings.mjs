// The settings of one environment in edgezoom.toml. Every value is checked before the first API call: a typo must not
// create a bucket.

import { parse } from "smol-toml";

/** Top-level keys; every other key is an environment. */
const OF_THE_FILE = ["account", "name"];
/** Variables that are derived from other settings. */
const DERIVED = ["BASE_URL", "SHARE_BASE", "CACHE_URL", "CONTAINERS", "CONTAINER_HOURS_A_DAY"];
const JURISDICTIONS = ["default", "eu", "us", "fedramp", "fedramp-high"];
/** Where tilers run: on machines of the operator's, or in Cloudflare's containers. */
const TILERS = ["machines", "containers"];
/** Cloudflare's containers in which a tiler can work. */
const INSTANCES = ["standard-1", "standard-2", "standard-3", "standard-4"];
const LOCATIONS = ["apac", "eeur", "enam", "weur", "wnam", "oc"];
/** The published image of the tiler. */
export const IMAGE = "docker.io/edgezoom/tiler:0.2.0";
/** The environment whose resources have no suffix in their names. */
const PRODUCTION = "production";

const HOST = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;
const NAME = /^[a-z][a-z0-9-]{1,40}[a-z0-9]$/;

/** A mistake of the operator, with a message for them. */
export class SettingsError extends Error {}

/** Returns the names of the file's environments. */
export function environments(text) {
  return Object.keys(read(text)).filter((key) => !OF_THE_FILE.includes(key));
}

/** Returns the settings of one environment. `vars` are the variables in wrangler.toml. */
export function settings(text, environment, vars) {
  const file = read(text);
  const table = file[environment];
  if (!isTable(table)) throw new SettingsError(`edgezoom.toml has no [${environment}]; it has ${environments(text).join(", ")}`);
  const at = (key) => `[${environment}] ${key}`;
  const inContainers = table.tilers === "containers";
  const known = {
    domain: host,
    api_domain: host,
    cache_domain: host,
    picture: address,
    contact: contact,
    jurisdiction: oneOf(JURISDICTIONS),
    location: oneOf(LOCATIONS),
    creations_per_minute: count,
    tilers: oneOf(TILERS),
    containers: count,
    container_hours_a_day: count,
    image: image,
    instance: oneOf(INSTANCES),
    vars: texts((name) => (name in vars && !DERIVED.includes(name)) || (inContainers && name.startsWith("EDGEZOOM_"))),
    names: texts(() => true),
  };
  for (const [key, value] of Object.entries(table)) {
    if (!known[key]) throw new SettingsError(`${at(key)} is unknown; use one of ${Object.keys(known).join(", ")}`);
    known[key](at(key), value);
  }
  if (!/^[0-9a-f]{32}$/.test(file.account ?? "")) throw new SettingsError("account must be 32 hexadecimal digits");
  if (!NAME.test(file.name ?? "")) throw new SettingsError("name must consist of 3 to 42 lower-case letters, digits and hyphens, beginning with a letter");
  if (!NAME.test(environment)) throw new SettingsError(`the environment's name ${environment} must consist of lower-case letters, digits and hyphens`);
  const { DEVELOPMENT } = { ...vars, ...table.vars };
  if (!["off", "", undefined].includes(DEVELOPMENT)) {
    throw new SettingsError(`${at("vars.DEVELOPMENT")} must be "off": "on" lifts all limits for requests without a client's address`);
  }
  const ofContainers = ["containers", "container_hours_a_day", "image", "instance"].filter((key) => key in table);
  if (!inContainers && ofContainers.length > 0) {
    throw new SettingsError(`${at(ofContainers[0])} needs tilers = "containers"`);
  }
  return {
    account: file.account,
    environment,
    /** Prefix of all resource names. */
    prefix: environment === PRODUCTION ? file.name : `${file.name}-${environment}`,
    domain: table.domain,
    apiDomain: table.api_domain,
    cacheDomain: table.cache_domain,
    picture: table.picture,
    contact: table.contact,
    jurisdiction: table.jurisdiction ?? "default",
    location: table.location,
    creationsPerMinute: table.creations_per_minute,
    /** The containers in which tilers run; undefined if these run on machines. */
    containers: inContainers
      ? {
          most: table.containers ?? 2,
          hoursADay: table.container_hours_a_day ?? 24,
          image: table.image ?? IMAGE,
          instance: table.instance ?? "standard-4",
        }
      : undefined,
    vars: table.vars ?? {},
    names: table.names ?? {},
  };
}

function read(text) {
  let file;
  try {
    file = parse(text);
  } catch (error) {
    throw new SettingsError(error.message);
  }
  for (const [key, value] of Object.entries(file)) {
    if (!OF_THE_FILE.includes(key) && !isTable(value))
      throw new SettingsError(`${key} is unknown; use one of ${OF_THE_FILE.join(", ")}`);
  }
  return file;
}

const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function host(at, value) {
  if (!HOST.test(value)) throw new SettingsError(`${at} must be a lower-case host name such as zoom.example.com`);
}

/** The platform pulls from Docker Hub without a login. A tag may change, but a digest names one image for ever. */
function image(at, value) {
  if (!/^[a-z0-9.-]+\.[a-z]{2,}\/[a-z0-9._/-]+(:[\w.-]+|@sha256:[0-9a-f]{64})$/.test(value)) {
    throw new SettingsError(`${at} must be a reference with registry, and tag or digest, such as ${IMAGE}`);
  }
}

function address(at, value) {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    throw new SettingsError(`${at} must be an http or https URL`);
}

/** Follows the rules of the tiler's EDGEZOOM_CONTACT, which becomes part of a header and a page. */
function contact(at, value) {
  const isContact = /^(https?:\/\/|[^@]+@[^@]+\.)/.test(value) && /^[!-~]{1,200}$/.test(value) && !/[()\\";<>]/.test(value);
  if (!isContact) throw new SettingsError(`${at} must be an e-mail address or a URL`);
}

function count(at, value) {
  if (!Number.isInteger(value) || value < 1) throw new SettingsError(`${at} must be a positive whole number`);
}

const oneOf = (allowed) => (at, value) => {
  if (!allowed.includes(value)) throw new SettingsError(`${at} must be one of ${allowed.join(", ")}`);
};

const texts = (mayBe) => (at, table) => {
  if (!isTable(table)) throw new SettingsError(`${at} must be a table`);
  for (const [name, value] of Object.entries(table)) {
    if (!mayBe(name)) throw new SettingsError(`${at} ${name} cannot be set here`);
    if (typeof value !== "string") throw new SettingsError(`${at} ${name} must be a string`);
  }
};
