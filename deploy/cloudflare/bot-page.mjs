// Names the operator on the page about the bot, `/bot`: it is a static file, and the Worker knows nothing of it.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

const SOURCE = new URL("../../edge/interface/bot.html", import.meta.url);
const PLACE = /<p id="contact">[^]*?<\/p>/;

/** Fills the contact of an environment in, or what stands there without one. In trials there may be no page. */
export async function nameOperator(root, { contact }) {
  const path = join(root, "edge/build/assets/bot.html");
  const page = await readFile(path, "utf8").catch(() => undefined);
  if (!page) return;
  const [without] = PLACE.exec(await readFile(SOURCE, "utf8"));
  const named = page.replace(PLACE, () => (contact ? `<p id="contact">${link(contact)}</p>` : without));
  if (named !== page) await writeFile(path, named);
}

function link(contact) {
  const text = contact.replaceAll("&", "&amp;");
  return `<a href="${contact.includes("://") ? text : `mailto:${text}`}">${text}</a>`;
}
