// The tiler's image by its digest. A tag can be moved to another image at any time; a digest names one image for ever.
// GitHub attests the images that the project's workflows have built.

import { spawnSync } from "node:child_process";

import { SettingsError } from "./settings.mjs";

/** The published image, and the repository whose workflows build it. */
const PUBLISHED = "docker.io/edgezoom/tiler";
const REPOSITORY = "edgezoom/edgezoom";
/** Registry, path, and tag or digest. `settings.mjs` has checked the form. */
const REFERENCE = /^([^/]+)\/([^:@]+)[:@]((sha256:[0-9a-f]{64})|[\w.-]+)$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
/** Indexes of images for several architectures, and single images. */
const MANIFESTS = ["oci.image.index.v1", "docker.distribution.manifest.list.v2", "oci.image.manifest.v1", "docker.distribution.manifest.v2"];

/**
 * Returns an image's reference with its digest, and verifies the published one if GitHub's `gh` is installed and logged
 * in. `fetch` and `gh` are the means; `gh` returns true if its command succeeds.
 */
export async function pinned(reference, plan, { fetch = globalThis.fetch, gh = runGh } = {}) {
  const [, registry, path, version, known] = REFERENCE.exec(reference);
  const image = `${registry}/${path}@${known ?? (await digestOf(registry, path, version, fetch))}`;
  plan.keep(`image ${image}`);
  if (`${registry}/${path}` !== PUBLISHED) return image;
  if (!gh(["auth", "status"])) {
    plan.note("the image's attestation is not verified: install GitHub's `gh` and log in");
  } else if (!gh(["attestation", "verify", `oci://${image}`, "--repo", REPOSITORY])) {
    throw new SettingsError(`\`gh\` finds no valid attestation of ${REPOSITORY} for ${image}: unless the network failed, report that (SECURITY.md)`);
  }
  return image;
}

/** Asks a registry for a digest. https://distribution.github.io/distribution/spec/auth/token/ */
async function digestOf(registry, path, tag, fetch) {
  const host = registry === "docker.io" ? "registry-1.docker.io" : registry;
  const Accept = MANIFESTS.map((type) => `application/vnd.${type}+json`).join();
  const ask = (headers) => fetch(`https://${host}/v2/${path}/manifests/${tag}`, { method: "HEAD", headers: { Accept, ...headers } });
  let response = await ask({});
  const challenge = response.status === 401 ? (response.headers.get("WWW-Authenticate") ?? "") : "";
  const { realm, ...query } = Object.fromEntries([...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, value]));
  if (realm) {
    const { token } = await (await fetch(`${realm}?${new URLSearchParams(query)}`)).json();
    response = await ask({ Authorization: `Bearer ${token}` });
  }
  const digest = response.ok ? (response.headers.get("Docker-Content-Digest") ?? "") : "";
  if (DIGEST.test(digest)) return digest;
  throw new SettingsError(`${host} answers ${response.status} for ${path}:${tag}; name the image by its digest: image = "${registry}/${path}@sha256:…"`);
}

/** Runs GitHub's command line, which says what fails. Returns false if it is missing or fails. */
const runGh = (words) => spawnSync("gh", words, { stdio: ["ignore", "ignore", "inherit"] }).status === 0;
