// What a task finds and what it changes. The same code makes a plan and carries it out: in a dry run a change is
// printed and not made, and gives nothing.

/** How wide the verbs are printed. */
const WIDTH = 7;

export class Plan {
  /** @type {(line: string) => void} */
  #print;
  #isDry;
  /** How many changes were made, or would be. */
  changes = 0;

  /** @param {{ dryRun?: boolean, print: (line: string) => void }} how `print` takes a line. */
  constructor({ dryRun = false, print }) {
    this.#isDry = dryRun;
    this.#print = print;
  }

  get isDry() {
    return this.#isDry;
  }

  /**
   * Something is as it should be.
   * @param {string} what
   */
  keep(what) {
    this.#line("keep", what);
  }

  /**
   * Something that the operator has to know or to do.
   * @param {string} text
   */
  note(text) {
    this.#line("note", text);
  }

  /**
   * Makes a change and gives its result; in a dry run `undefined`.
   * @template T
   * @param {string} verb
   * @param {string} what
   * @param {() => Promise<T>} make
   * @returns {Promise<T | undefined>}
   */
  async change(verb, what, make) {
    this.changes += 1;
    this.#line(verb, what);
    return this.#isDry ? undefined : make();
  }

  /**
   * What `find` finds, else what `create` creates. An answer may be lost after the provider has done its work; then
   * what is asked for again "exists already", and is looked for again.
   * @template T
   * @param {string} what
   * @param {() => Promise<T | undefined>} find
   * @param {() => Promise<T | undefined>} create
   * @returns {Promise<T | undefined>}
   */
  async ensure(what, find, create) {
    const found = await find();
    if (found !== undefined) {
      this.keep(what);
      return found;
    }
    return this.change("create", what, async () => {
      try {
        return await create();
      } catch (error) {
        const made = await find();
        if (made === undefined) throw error;
        return made;
      }
    });
  }

  /**
   * @param {string} verb
   * @param {string} text
   */
  #line(verb, text) {
    this.#print(`${verb.padEnd(WIDTH)} ${text}`);
  }
}
