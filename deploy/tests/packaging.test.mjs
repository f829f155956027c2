// What people run the tiler with: the container's recipe, the compose file, the unit for systemd. Building an image needs a
// builder and a registry, so here the recipe is checked by a linter, and by what it must hold.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { validate } from "dockerfile-utils";
import { parse } from "yaml";

import { REPOSITORY } from "./stage.mjs";

const read = (path) => readFile(join(REPOSITORY, path), "utf8");
const dockerfile = await read("deploy/docker/Dockerfile");
const unit = await read("deploy/systemd/edgezoom-tiler.service");
const compose = parse(await read("deploy/docker/compose.yaml"));
const known = new Set((await read("tiler/src/commands/serve.rs")).match(/EDGEZOOM_[A-Z0-9_]+/g));

/** Every variable of the tiler that a text names. */
const variables = (text) => text.match(/EDGEZOOM_[A-Z0-9_]+/g) ?? [];

test("the container's recipe has no mistakes that a linter finds, and the tiler in it is not root", () => {
  assert.deepEqual(validate(dockerfile), []);
  const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
  assert.match(last, /^USER \d{2,}$/m, "a number, which orchestrators can compare with 0");
  assert.ok(last.indexOf("\nUSER ") > last.lastIndexOf("\nRUN "), "nothing is installed as that user");
  for (const image of dockerfile.matchAll(/^FROM (\S+)/gm)) assert.match(image[1], /:(?!latest)/, "a version is named");
  const build = dockerfile.slice(0, dockerfile.lastIndexOf("\nFROM "));
  assert.ok(build.indexOf("cargo xtask release") > build.indexOf("\nUSER build"), "it is not built as root");
});

test("the containers are read-only where they can be, and share one bucket", async () => {
  const { tiler, store, bucket } = compose.services;
  assert.equal(tiler.read_only, true);
  assert.deepEqual(tiler.cap_drop, ["ALL"]);
  assert.ok(tiler.security_opt.includes("no-new-privileges:true"));
  assert.equal(store.image, bucket.image);
  assert.match(store.ports[0], /^127\.0\.0\.1:/);
  const { identities } = JSON.parse(await read("deploy/docker/s3.example.json"));
  const name = tiler.environment.EDGEZOOM_S3_BUCKET;
  assert.deepEqual(identities.find(({ name }) => name === "anonymous").actions, [`Read:${name}`]);
  assert.ok(bucket.command[0].includes(`s3.bucket.create -name ${name}`));
});

test("the tiler knows the variables that containers and the unit set", () => {
  const named = [...variables(dockerfile), ...variables(unit), ...Object.keys(compose.services.tiler.environment)];
  assert.ok(named.length >= 5);
  for (const name of named) assert.ok(known.has(name), name);
});

const systemd = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" });
const skip = systemd.error ? "systemd-analyze is not installed" : false;

test("systemd understands the unit, and calls it well protected", { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-unit-"));
  try {
    const file = join(folder, "edgezoom-tiler.service");
    await writeFile(file, unit.replaceAll("/opt/edgezoom/tiler", process.execPath)); // the program has to exist
    const verified = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    assert.deepEqual([verified.status, verified.stderr], [0, ""]);
    const threshold = ["--offline=yes", "--threshold=30"]; // of 100: namespaces for Chromium cost 5
    const protectedBy = spawnSync("systemd-analyze", ["security", ...threshold, file], { encoding: "utf8" });
    assert.equal(protectedBy.status, 0, protectedBy.stdout + protectedBy.stderr);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
