// What edgezoom.toml says of one environment, with every value checked before anything is asked of the provider: a
// typing error must not create a bucket.

import { parse } from "smol-toml";

/** Of the whole file; every other key is an environment. */
const OF_THE_FILE = ["account", "name"];
/** The variables that follow from the domains. */
const ADDRESSES = ["BASE_URL", "SHARE_BASE", "CACHE_URL"];
const LAYOUTS = ["archive", "tiles"];
const JURISDICTIONS = ["default", "eu", "us", "fedramp", "fedramp-high"];
const LOCATIONS = ["apac", "eeur", "enam", "weur", "wnam", "oc"];
/** The environment whose names have nothing after the service's name. */
const PRODUCTION = "production";

const HOST = /^(?=.{4,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}$/;
const NAME = /^[a-z][a-z0-9-]{1,40}[a-z0-9]$/;

/** A mistake in the file, in words for the operator. */
export class SettingsError extends Error {}

/** The names of the environments that the file describes. */
export function environments(text) {
  return Object.keys(read(text)).filter((key) => !OF_THE_FILE.includes(key));
}

/** The settings of one environment. `vars` are the variables that wrangler.toml has. */
export function settings(text, environment, vars) {
  const file = read(text);
  const table = file[environment];
  if (!isTable(table)) throw new SettingsError(`there is no [${environment}]; ${names(environments(text))}`);
  const at = (key) => `[${environment}] ${key}`;
  const known = {
    domain: host,
    api_domain: host,
    cache_domain: host,
    cache_url: address,
    picture: address,
    contact: contact,
    layout: oneOf(LAYOUTS),
    jurisdiction: oneOf(JURISDICTIONS),
    location: oneOf(LOCATIONS),
    creations_per_minute: count,
    vars: texts((name) => name in vars && !ADDRESSES.includes(name)),
    names: texts(() => true),
  };
  for (const [key, value] of Object.entries(table)) {
    if (!known[key]) throw new SettingsError(`${at(key)} is not known; ${names(Object.keys(known))}`);
    known[key](at(key), value);
  }
  if (!/^[0-9a-f]{32}$/.test(file.account ?? "")) throw new SettingsError("account has to be 32 hexadecimal digits");
  if (!NAME.test(file.name ?? "")) throw new SettingsError("name has to be of a-z, 0-9 and hyphens, 42 at most");
  if (!NAME.test(environment)) throw new SettingsError(`${environment} cannot be part of a name`);
  const { layout = "archive", domain, cache_domain: cacheDomain, cache_url: cacheUrl } = table;
  if (layout === "tiles" && !cacheDomain && !cacheUrl) {
    throw new SettingsError(
      `${at("cache_domain")} is missing: the layout "tiles" is served from the bucket's own domain`,
    );
  }
  return {
    account: file.account,
    environment,
    /** What every name begins with. */
    prefix: environment === PRODUCTION ? file.name : `${file.name}-${environment}`,
    domain,
    apiDomain: table.api_domain,
    cacheDomain,
    cacheUrl,
    layout,
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
      throw new SettingsError(`${key} is not known; ${names(OF_THE_FILE)}`);
  }
  return file;
}

const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const names = (known) => `these are: ${known.join(", ")}`;

function host(at, value) {
  if (!HOST.test(value)) throw new SettingsError(`${at} has to be a host name in lower case, such as zoom.example.com`);
}

function address(at, value) {
  if (!/^https?:\/\//.test(value) || !URL.canParse(value))
    throw new SettingsError(`${at} has to be an http or https address`);
}

/** As the tiler's EDGEZOOM_CONTACT: it becomes part of a header and of a page. */
function contact(at, value) {
  const isContact = /^(https?:\/\/|[^@]+@[^@]+\.)/.test(value) && /^[!-~]{1,200}$/.test(value) && !/[()\\";<>]/.test(value);
  if (!isContact) throw new SettingsError(`${at} has to be an e-mail address or a web address`);
}

function count(at, value) {
  if (!Number.isInteger(value) || value < 1) throw new SettingsError(`${at} has to be a whole number from 1 on`);
}

const oneOf = (allowed) => (at, value) => {
  if (!allowed.includes(value)) throw new SettingsError(`${at} has to be one of ${allowed.join(", ")}`);
};

const texts = (mayBe) => (at, table) => {
  if (!isTable(table)) throw new SettingsError(`${at} has to be a table`);
  for (const [name, value] of Object.entries(table)) {
    if (!mayBe(name)) throw new SettingsError(`${at} ${name} cannot be set here`);
    if (typeof value !== "string") throw new SettingsError(`${at} ${name} has to be a text`);
  }
};
