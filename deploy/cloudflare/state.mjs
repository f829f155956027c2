// The state that deploying keeps in .edgezoom/ on the operator's machine: for each environment the tilers' and the
// operator's variables, the only places with the values of secrets, and the tokens that an interrupted run was
// creating.

import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** Access for the owner only. */
const SECRET_FILE = 0o600;
const SECRET_FOLDER = 0o700;

/** The tilers' variables in the order of the file. */
const VARIABLES = [
  "EDGEZOOM_EDGE_URL",
  "EDGEZOOM_TILER_TOKEN",
  "EDGEZOOM_QUEUE_URL",
  "EDGEZOOM_QUEUE_TOKEN",
  "EDGEZOOM_S3_ENDPOINT",
  "EDGEZOOM_S3_BUCKET",
  "EDGEZOOM_S3_ACCESS_KEY_ID",
  "EDGEZOOM_S3_SECRET_ACCESS_KEY",
];
const SECRETS = /TOKEN$|SECRET/;

/** Returns a new secret of 256 random bits. */
export const newSecret = () => randomBytes(32).toString("base64url");

export class State {
  #folder;
  #environment;
  /** The tilers' variables by name. */
  variables;
  /** The operator's variables, which tilers must not have. */
  operator;
  /** Names of tokens that are being created. */
  begun;

  constructor(folder, environment, { variables, operator, begun }) {
    this.#folder = folder;
    this.#environment = environment;
    this.variables = variables;
    this.operator = operator;
    this.begun = new Set(begun);
  }

  /** Reads the state of an environment. */
  static async load(folder, environment) {
    const read = (ending) => orNothing(readFile(join(folder, `${environment}${ending}`), "utf8"));
    const [env, admin, begun] = await Promise.all([read(".env"), read(".admin.env"), read(".begun.json")]);
    return new State(folder, environment, {
      variables: parse(env ?? ""),
      operator: parse(admin ?? ""),
      begun: JSON.parse(begun ?? "[]"),
    });
  }

  /** Sets variables of the tilers, and writes their file if it changes. */
  async set(variables) {
    const before = this.text();
    Object.assign(this.variables, variables);
    if (this.text() !== before) await write(this.#folder, `${this.#environment}.env`, this.text());
  }

  /** Forgets all variables of the tilers but these. */
  async keep(names) {
    const others = Object.keys(this.variables).filter((name) => !names.includes(name));
    if (others.length) await this.set(Object.fromEntries(others.map((name) => [name, undefined])));
  }

  /** Sets variables of the operator, and writes their file if it changes. */
  async setOperator(variables) {
    const before = lines(this.operator);
    Object.assign(this.operator, variables);
    const after = lines(this.operator);
    if (after !== before) await write(this.#folder, `${this.#environment}.admin.env`, after);
  }

  /** Notes that a token is being created. */
  async begin(token) {
    this.begun.add(token);
    await this.#writeBegun();
  }

  /** Notes that a token's value is stored. */
  async end(token) {
    if (this.begun.delete(token)) await this.#writeBegun();
  }

  #writeBegun() {
    return write(this.#folder, `${this.#environment}.begun.json`, JSON.stringify([...this.begun]));
  }

  /** Deletes the files after the environment is removed. */
  async forget() {
    const files = [this.path, this.operatorPath, join(this.#folder, `${this.#environment}.begun.json`)];
    await Promise.all(files.map((file) => rm(file, { force: true })));
    this.variables = {};
    this.operator = {};
  }

  /** Path of the tilers' variables. */
  get path() {
    return join(this.#folder, `${this.#environment}.env`);
  }

  /** Path of the operator's variables. */
  get operatorPath() {
    return join(this.#folder, `${this.#environment}.admin.env`);
  }

  /** Returns the file with the tilers' variables; with `hidden` without secrets. */
  text({ hidden = false } = {}) {
    const others = Object.keys(this.variables).filter((name) => !VARIABLES.includes(name));
    const lines = [...VARIABLES, ...others].map((name) => {
      const value = this.variables[name];
      if (value === undefined) return `# ${name}= is unknown`;
      return `${name}=${hidden && SECRETS.test(name) ? "…" : value}`;
    });
    return `${lines.join("\n")}\n`;
  }
}

const lines = (variables) => Object.entries(variables).map(([name, value]) => `${name}=${value}\n`).join("");

/** Parses the lines `NAME=value` of a text. */
function parse(text) {
  const lines = text.split("\n").map((line) => line.match(/^([A-Z][A-Z0-9_]*)=(.*)$/));
  return Object.fromEntries(lines.filter(Boolean).map(([, name, value]) => [name, value]));
}

/** Replaces a file atomically. */
async function write(folder, name, text) {
  await mkdir(folder, { recursive: true, mode: SECRET_FOLDER });
  const path = join(folder, name);
  const file = await open(`${path}.new`, "w", SECRET_FILE);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
}

async function orNothing(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error.code === "ENOENT") return undefined;
    throw error;
  }
}
