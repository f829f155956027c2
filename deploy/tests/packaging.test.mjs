// What people run the tiler with: the container's recipe, the compose file, the unit for systemd. Where no builder of images
// is installed, the recipe is checked by a linter and by what it must hold; so is the compose file without Compose.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { validate } from "dockerfile-utils";
import { parse } from "yaml";

import { REPOSITORY } from "./stage.mjs";

// All that is awaited comes before the first test: Node may be done with the tests that it knows while a file still waits, and
// then leaves out the ones behind.
const system = await readFile("/etc/os-release", "utf8").catch(() => "");
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

test("the unit allows the namespaces that the browser for web pages is put into, and a /proc of its own", async () => {
  const source = await read("tiler/src/browser/process/namespaces.rs");
  const names = { NEWUSER: "user", NEWNS: "mnt", NEWNET: "net", NEWPID: "pid", NEWIPC: "ipc", NEWUTS: "uts" };
  const made = new Set([...source.matchAll(/UnshareFlags::(\w+)/g)].map(([, flag]) => names[flag] ?? flag));
  const [, allowed] = /^RestrictNamespaces=(.*)$/m.exec(unit);
  assert.deepEqual(new Set(allowed.split(" ")), made);
  for (const call of ["mount", "umount2", "pivot_root"]) assert.match(unit, new RegExp(`^SystemCallFilter=.*\\b${call}\\b`, "m"));
  assert.doesNotMatch(unit, /^ProtectKernel(Tunables|Logs)=yes/m, "they cover parts of /proc");
});

const runs = (command, words) => spawnSync(command, words, { encoding: "utf8" }).status === 0;

/** The Compose that is installed. The older one knows no name of a project. */
const composer = runs("docker", ["compose", "version"])
  ? { command: "docker", words: ["compose"], adapted: (text) => text }
  : runs("docker-compose", ["version"]) && { command: "docker-compose", words: [], adapted: (text) => text.replace(/^name:.*$/m, "") };

test("Compose understands its file", { skip: composer ? false : "Compose is not installed" }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-compose-"));
  try {
    await writeFile(join(folder, "compose.yaml"), composer.adapted(await read("deploy/docker/compose.yaml")));
    await writeFile(join(folder, "tiler.env"), "EDGEZOOM_EDGE_URL=https://zoom.example.com\n");
    const words = [...composer.words, "--file", join(folder, "compose.yaml"), "config"];
    const { status, stdout, stderr } = spawnSync(composer.command, words, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const { tiler } = parse(stdout).services;
    assert.equal(tiler.environment.EDGEZOOM_EDGE_URL, "https://zoom.example.com");
    assert.deepEqual([tiler.read_only, tiler.depends_on.bucket.condition], [true, "service_completed_successfully"]);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

/** A builder that takes a folder in place of the stage that compiles, which would take half an hour. */
const builder = runs("docker", ["buildx", "version"]) && runs("docker", ["info"]) ? "docker" : runs("podman", ["info"]) && "podman";
const program = join(REPOSITORY, "target/debug/tiler");
/** The program runs with the image's glibc if it was built with one that is not newer. */
const isOfImage = /^VERSION_CODENAME=bookworm$/m.test(system);
const lacking = [
  [builder, "no builder of images is installed"],
  [isOfImage, "this is another Debian than the image's"],
  [existsSync(program), "the tiler is not built"],
  [builder && isOfImage && runs(builder, ["run", "--rm", "debian:bookworm-slim", "true"]), "no container of the image that it is built from runs here"],
].find(([is]) => !is);

test("the image is built, and the tiler in it runs read-only and finds what it needs", { skip: lacking?.[1] ?? false }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-image-"));
  const run = (...words) => {
    const { status, stdout, stderr } = spawnSync(builder, words, { encoding: "utf8", maxBuffer: 1 << 26 });
    assert.equal(status, 0, `${words.join(" ")}:\n${stdout}${stderr}`);
    return stdout;
  };
  try {
    await cp(program, join(folder, "src/image/tiler"));
    await cp(join(REPOSITORY, "target/pdfium"), join(folder, "src/image/pdfium"), { recursive: true });
    const image = "edgezoom-tiler-test";
    run("build", "--file", join(REPOSITORY, "deploy/docker/Dockerfile"), "--build-context", `build=${folder}`, "--tag", image, REPOSITORY);
    const [, words] = /^docker run --detach --env-file \S+ ([^]*?)edgezoom-tiler$/m.exec(await read("docs/operations/guide.md"));
    const documented = words.split(/[\s\\]+/).filter(Boolean);
    assert.ok(documented.includes("--read-only") && documented.includes("--tmpfs"));
    // Whether it may have namespaces is up to the machine, and decides doctor's status.
    const { stdout } = spawnSync(builder, ["run", "--rm", ...documented, image, "doctor"], { encoding: "utf8" });
    for (const subject of ["sandbox", "temporary", "user", "browser", "PDF", "fonts"]) assert.match(stdout, new RegExp(`^ok .*${subject}`, "im"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
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
