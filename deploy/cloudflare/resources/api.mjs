// The provider's API as the resources use it: its official client, and for which account.

import Cloudflare, { APIError } from "cloudflare";

/**
 * @typedef {"default" | "eu" | "us" | "fedramp" | "fedramp-high"} Jurisdiction
 * @typedef {object} Api
 * @property {Cloudflare} client
 * @property {string} account
 * @property {Jurisdiction} jurisdiction Of the bucket.
 */

/** How often a call is made that fails for a reason that may pass; the client waits longer each time. */
const RETRIES = 4;

/**
 * `token` and `address` are what wrangler knows as CLOUDFLARE_API_TOKEN and CLOUDFLARE_API_BASE_URL.
 * @param {{ account: string, jurisdiction: Jurisdiction, token: string, address?: string, retries?: number }} options
 * @returns {Api}
 */
export function api({ account, jurisdiction, token, address, retries = RETRIES }) {
  const client = new Cloudflare({ apiToken: token, baseURL: address, maxRetries: retries });
  return { client, account, jurisdiction };
}

/**
 * The answer, or `undefined` where there is no such thing.
 * @template T
 * @param {Promise<T>} answer
 * @returns {Promise<T | undefined>}
 */
export async function orNothing(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof APIError && error.status === 404) return undefined;
    throw error;
  }
}

/**
 * Whether the provider refuses a call because the token has no right to make it.
 * @param {unknown} error
 */
export function isForbidden(error) {
  return error instanceof APIError && (error.status === 401 || error.status === 403);
}

/**
 * The first that fits, of a list that may have several pages.
 * @template T
 * @param {AsyncIterable<T>} list
 * @param {(item: T) => boolean} fits
 * @returns {Promise<T | undefined>}
 */
export async function first(list, fits) {
  for await (const item of list) if (fits(item)) return item;
  return undefined;
}
