// The packaging of the tiler: Dockerfile, compose file, systemd unit. Without an image builder only a linter and
// assertions check the Dockerfile, and without Compose only assertions the compose file.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { validate } from "dockerfile-utils";
import { parse } from "yaml";

import { REPOSITORY } from "./stage.mjs";

// Top-level awaits come before the first test: Node.js may finish the registered tests while a file still waits, and
// skip the others.
const system = await readFile("/etc/os-release", "utf8").catch(() => "");
const read = (path) => readFile(join(REPOSITORY, path), "utf8");
const dockerfile = await read("deploy/docker/Dockerfile");
const unit = await read("deploy/systemd/edgezoom-tiler.service");
const compose = parse(await read("deploy/docker/compose.yaml"));
const known = new Set((await read("tiler/src/commands/serve.rs")).match(/EDGEZOOM_[A-Z0-9_]+/g));

/** Returns all variables of the tiler in a text. */
const variables = (text) => text.match(/EDGEZOOM_[A-Z0-9_]+/g) ?? [];

test("the Dockerfile passes a linter, and neither build nor tiler run as root", () => {
  assert.deepEqual(validate(dockerfile), []);
  const last = dockerfile.slice(dockerfile.indexOf(" AS tiler\n"));
  assert.match(last, /^USER \d{2,}$/m, "a number, which orchestrators compare with 0");
  assert.ok(last.indexOf("\nUSER ") > last.lastIndexOf("\nRUN "), "packages are installed as root");
  const [, base] = /^ARG BASE=(\S+)$/m.exec(dockerfile);
  assert.match(base, /:(?!latest)/, "images have versions");
  const stages = new Set([...dockerfile.matchAll(/ AS (\S+)$/gm)].map(([, name]) => name));
  for (const [, image] of dockerfile.matchAll(/^FROM (\S+)/gm))
    assert.ok(image === "${BASE}" || image === "scratch" || stages.has(image), "an operator can name a digest once for all");
  const build = dockerfile.slice(0, dockerfile.indexOf(" AS tiler\n"));
  assert.ok(build.indexOf("cargo xtask release") > build.indexOf("\nUSER build"), "the build is not root");
});

test("an image whose base has no digest is built with a warning, and names its base", () => {
  const [, script] = /^RUN (case "\$BASE" .*)$/m.exec(dockerfile);
  const warning = (BASE) => spawnSync("sh", ["-c", script], { env: { BASE }, encoding: "utf8" });
  const [, unpinned] = /^ARG BASE=(\S+)$/m.exec(dockerfile);
  assert.match(warning(unpinned).stderr, /has no digest/);
  const pinned = warning(`${unpinned}@sha256:${"0".repeat(64)}`);
  assert.deepEqual([pinned.status, pinned.stderr], [0, ""]);
  assert.match(dockerfile.slice(dockerfile.indexOf(" AS tiler\n")), /^ARG BASE\nLABEL org\.opencontainers\.image\.base\.name="\$\{BASE\}"$/m);
});

test("the tiler's container is read-only and unprivileged", async () => {
  const { tiler } = compose.services;
  assert.equal(tiler.read_only, true);
  assert.deepEqual(tiler.cap_drop, ["ALL"]);
  assert.ok(tiler.security_opt.includes("no-new-privileges:true"));
  const filter = tiler.security_opt.find((option) => option.startsWith("seccomp="));
  // The tiler's tests run a browser under it.
  const profile = JSON.parse(await read(join("deploy/docker", filter.slice("seccomp=".length))));
  assert.deepEqual([profile.defaultAction, profile.defaultErrnoRet], ["SCMP_ACT_ERRNO", 1]);
});

test("containers and unit set only variables that the tiler reads", () => {
  const last = dockerfile.slice(dockerfile.indexOf(" AS tiler\n"));
  const named = [...variables(last), ...variables(unit)];
  assert.ok(named.length >= 2);
  for (const name of named) assert.ok(known.has(name), name);
});

test("the unit allows the namespaces and the /proc of the web page browser", async () => {
  const source = await read("tiler/src/browser/process/namespaces.rs");
  const names = { NEWUSER: "user", NEWNS: "mnt", NEWNET: "net", NEWPID: "pid", NEWIPC: "ipc", NEWUTS: "uts" };
  const made = new Set([...source.matchAll(/UnshareFlags::(\w+)/g)].map(([, flag]) => names[flag] ?? flag));
  const [, allowed] = /^RestrictNamespaces=(.*)$/m.exec(unit);
  assert.deepEqual(new Set(allowed.split(" ")), made);
  for (const call of ["mount", "umount2", "pivot_root"]) assert.match(unit, new RegExp(`^SystemCallFilter=.*\\b${call}\\b`, "m"));
  assert.doesNotMatch(unit, /^ProtectKernel(Tunables|Logs)=yes/m, "they mask parts of /proc");
});

test("images built from source can name their commit, which .dockerignore hides from them", async () => {
  assert.match(await read(".dockerignore"), /^\.git$/m);
  for (const stage of dockerfile.split(/^FROM /m).filter((stage) => stage.includes("cargo xtask release")))
    assert.match(stage, /^ARG EDGEZOOM_BUILD\nRUN cargo xtask release/m);
  for (const { build } of [compose.services.tiler, parse(await read("compose.yaml")).services.edgezoom])
    assert.deepEqual(build.args, ["EDGEZOOM_BUILD"], "of the environment, if it is set");
});

const runs = (command, words) => spawnSync(command, words, { encoding: "utf8" }).status === 0;

/** The installed Compose. Version 1 does not support `name`. */
const composer = runs("docker", ["compose", "version"])
  ? { command: "docker", words: ["compose"], adapted: (text) => text }
  : runs("docker-compose", ["version"]) && { command: "docker-compose", words: [], adapted: (text) => text.replace(/^name:.*$/m, "") };

test("Compose accepts its file", { skip: composer ? false : "Compose is not installed" }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-compose-"));
  try {
    await writeFile(join(folder, "compose.yaml"), composer.adapted(await read("deploy/docker/compose.yaml")));
    await writeFile(join(folder, "tiler.env"), "EDGEZOOM_EDGE_URL=https://zoom.example.com\n");
    const words = [...composer.words, "--file", join(folder, "compose.yaml"), "config"];
    const { status, stdout, stderr } = spawnSync(composer.command, words, { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const { tiler } = parse(stdout).services;
    assert.equal(tiler.environment.EDGEZOOM_EDGE_URL, "https://zoom.example.com");
    assert.equal(tiler.read_only, true);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("workflows pin actions by commit and name files, parts and stages that exist", async () => {
  const folder = ".github/workflows";
  const targets = new Set([...dockerfile.matchAll(/ AS (\S+)$/gm)].map(([, name]) => name));
  const enumerated = /enum Part \{([^]*?)\n\}/.exec(await read("xtask/src/release/mod.rs"))[1];
  const parts = new Set([...enumerated.matchAll(/^ {4}(\w+),$/gm)].map(([, name]) => name.toLowerCase()));
  for (const file of await readdir(join(REPOSITORY, folder))) {
    const text = await read(join(folder, file));
    for (const job of Object.values(parse(text).jobs)) {
      for (const { uses = "" } of [job, ...(job.steps ?? [])]) assert.match(uses, /^$|@[0-9a-f]{40}$|^\.\//, file);
      for (const { parts: named } of job.strategy?.matrix.include ?? []) for (const part of named?.split(" ") ?? []) assert.ok(parts.has(part), part);
    }
    for (const [path] of text.matchAll(/(?:\.\/\.github|\.ci|deploy|tiler\/tests)\/[\w./-]+/g)) assert.ok(existsSync(join(REPOSITORY, path)), path);
  }
  const { edgezoom } = parse(await read("compose.yaml")).services;
  assert.ok(targets.has(edgezoom.build.target) && targets.has(compose.services.tiler.build.target));
  assert.deepEqual(edgezoom.ports, ["127.0.0.1:8787:8787"], "the local service has no limits");
  const container = JSON.parse(await read(".devcontainer/devcontainer.json"));
  assert.deepEqual([container.forwardPorts, container.onCreateCommand], [[8787], "cargo xtask setup"]);
});

/** An image builder that can replace the build stage, which takes half an hour, by a directory. */
const builder = runs("docker", ["buildx", "version"]) && runs("docker", ["info"]) ? "docker" : runs("podman", ["info"]) && "podman";
const program = join(REPOSITORY, "target/debug/tiler");
/** The built program needs the image's glibc or an older one. */
const isOfImage = /^VERSION_CODENAME=bookworm$/m.test(system);
const lacking = [
  [builder, "no image builder is installed"],
  [isOfImage, "this system is not the image's Debian"],
  [existsSync(program), "the tiler is not built"],
  [builder && isOfImage && runs(builder, ["run", "--rm", "debian:bookworm-slim", "true"]), "containers of the base image do not run here"],
].find(([is]) => !is);

test("the tiler in the built image runs read-only and finds its dependencies", { skip: lacking?.[1] ?? false }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-image-"));
  const run = (...words) => {
    const { status, stdout, stderr } = spawnSync(builder, words, { encoding: "utf8", maxBuffer: 1 << 26 });
    assert.equal(status, 0, `${words.join(" ")}:\n${stdout}${stderr}`);
    return stdout;
  };
  try {
    await cp(program, join(folder, "tiler"));
    await cp(join(REPOSITORY, "target/pdfium"), join(folder, "pdfium"), { recursive: true });
    const image = "edgezoom-tiler-test";
    run("build", "--file", join(REPOSITORY, "deploy/docker/Dockerfile"), "--target", "tiler", "--build-context", `release=${folder}`, "--tag", image, REPOSITORY);
    const [, words] = /^docker run --detach --env-file \S+ ([^]*?)edgezoom-tiler$/m.exec(await read("docs/operations/guide.md"));
    const documented = words.split(/[\s\\]+/).filter(Boolean);
    assert.ok(documented.includes("--read-only") && documented.includes("--tmpfs"));
    // doctor's exit code depends on the machine's support of namespaces.
    const { stdout } = spawnSync(builder, ["run", "--rm", ...documented, image, "doctor"], { encoding: "utf8" });
    for (const subject of ["sandbox", "temporary", "user", "browser", "PDF", "fonts"]) assert.match(stdout, new RegExp(`^ok .*${subject}`, "im"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

const systemd = spawnSync("systemd-analyze", ["--version"], { encoding: "utf8" });
const skip = systemd.error ? "systemd-analyze is not installed" : false;

test("systemd accepts the unit and rates it well protected", { skip }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "edgezoom-unit-"));
  try {
    const file = join(folder, "edgezoom-tiler.service");
    // Verify requires an existing program.
    await writeFile(file, unit.replaceAll("/opt/edgezoom/tiler", process.execPath));
    const verified = spawnSync("systemd-analyze", ["verify", "--man=no", file], { encoding: "utf8" });
    assert.deepEqual([verified.status, verified.stderr], [0, ""]);
    const threshold = ["--offline=yes", "--threshold=30"]; // of 100; Chromium's namespaces cost 5
    const protectedBy = spawnSync("systemd-analyze", ["security", ...threshold, file], { encoding: "utf8" });
    assert.equal(protectedBy.status, 0, protectedBy.stdout + protectedBy.stderr);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
