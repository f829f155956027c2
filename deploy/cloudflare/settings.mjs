// The settings of one environment in edgezoom.toml. Every value is checked before the first API call: a typo must not
// create a bucket.

import { parse } from "smol-toml";

/** Top-level keys; every other key is an environment. */
const OF_THE_FILE = ["account", "name"];
/** Variables that are derived from the domains. */
const ADDRESSES = ["BASE_URL", "SHARE_BASE", "CACHE_URL"];
const JURISDICTIONS = ["default", "eu", "us", "fedramp", "fedramp-high"];
const LOCATIONS = ["apac", "eeur", "enam", "weur", "wnam", "oc"];
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
  const known = {
    domain: host,
    api_domain: host,
    cache_domain: host,
    picture: address,
    contact: contact,
    jurisdiction: oneOf(JURISDICTIONS),
    location: oneOf(LOCATIONS),
    creations_per_minute: count,
    vars: texts((name) => name in vars && !ADDRESSES.includes(name)),
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
