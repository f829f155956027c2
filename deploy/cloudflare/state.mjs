// What deploying keeps on the operator's machine, in .edgezoom/: for each environment the file with the tilers'
// variables and that with the operator's, which are the only places that have the values of secrets, and which tokens it was
// making when it ended.

import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";

/** For the owner's eyes only. */
const SECRET_FILE = 0o600;
const SECRET_FOLDER = 0o700;

/** The variables in the order in which they are written. */
const VARIABLES = [
  "EDGEZOOM_EDGE_URL",
  "EDGEZOOM_TILER_TOKEN",
  "EDGEZOOM_QUEUE_URL",
  "EDGEZOOM_QUEUE_TOKEN",
  "EDGEZOOM_S3_ENDPOINT",
  "EDGEZOOM_S3_BUCKET",
  "EDGEZOOM_S3_ACCESS_KEY_ID",
  "EDGEZOOM_S3_SECRET_ACCESS_KEY",
  "EDGEZOOM_LAYOUT",
];
const SECRETS = /TOKEN$|SECRET/;

/** A new secret, of 256 random bits. */
export const newSecret = () => randomBytes(32).toString("base64url");

export class State {
  #folder;
  #environment;
  /** The tilers' variables, by their names. */
  variables;
  /** Those of the operator, which tilers must not have. */
  operator;
  /** The names of the tokens whose making has begun. */
  begun;

  constructor(folder, environment, { variables, operator, begun }) {
    this.#folder = folder;
    this.#environment = environment;
    this.variables = variables;
    this.operator = operator;
    this.begun = new Set(begun);
  }

  /** What is known of an environment. */
  static async load(folder, environment) {
    const read = (ending) => orNothing(readFile(join(folder, `${environment}${ending}`), "utf8"));
    const [env, admin, begun] = await Promise.all([read(".env"), read(".admin.env"), read(".begun.json")]);
    return new State(folder, environment, {
      variables: parse(env ?? ""),
      operator: parse(admin ?? ""),
      begun: JSON.parse(begun ?? "[]"),
    });
  }

  /** Sets variables, and writes the file if that changes it. */
  async set(variables) {
    const before = this.text();
    Object.assign(this.variables, variables);
    if (this.text() !== before) await write(this.#folder, `${this.#environment}.env`, this.text());
  }

  /** Sets variables of the operator. */
  async setOperator(variables) {
    const before = lines(this.operator);
    Object.assign(this.operator, variables);
    const after = lines(this.operator);
    if (after !== before) await write(this.#folder, `${this.#environment}.admin.env`, after);
  }

  /** Notes that a token is being made. */
  async begin(token) {
    this.begun.add(token);
    await this.#writeBegun();
  }

  /** Notes that its value is known. */
  async end(token) {
    if (this.begun.delete(token)) await this.#writeBegun();
  }

  #writeBegun() {
    return write(this.#folder, `${this.#environment}.begun.json`, JSON.stringify([...this.begun]));
  }

  /** Deletes the files: what the tilers' variables are for is gone. */
  async forget() {
    const files = [this.path, this.operatorPath, join(this.#folder, `${this.#environment}.begun.json`)];
    await Promise.all(files.map((file) => rm(file, { force: true })));
    this.variables = {};
    this.operator = {};
  }

  /** Where the file is. */
  get path() {
    return join(this.#folder, `${this.#environment}.env`);
  }

  /** Where the operator's file is. */
  get operatorPath() {
    return join(this.#folder, `${this.#environment}.admin.env`);
  }

  /** The file, or with `hidden` one that may be shown: without the secrets. */
  text({ hidden = false } = {}) {
    const others = Object.keys(this.variables).filter((name) => !VARIABLES.includes(name));
    const lines = [...VARIABLES, ...others].map((name) => {
      const value = this.variables[name];
      if (value === undefined) return `# ${name}= is not known`;
      return `${name}=${hidden && SECRETS.test(name) ? "…" : value}`;
    });
    return `${lines.join("\n")}\n`;
  }
}

const lines = (variables) => Object.entries(variables).map(([name, value]) => `${name}=${value}\n`).join("");

/** The lines `NAME=value` of a text. */
function parse(text) {
  const lines = text.split("\n").map((line) => line.match(/^([A-Z][A-Z0-9_]*)=(.*)$/));
  return Object.fromEntries(lines.filter(Boolean).map(([, name, value]) => [name, value]));
}

/** Writes a file whole or not at all. */
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
