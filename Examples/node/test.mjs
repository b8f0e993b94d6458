// usage: node --test test.mjs     with cachefetch on the PATH
import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { test } from "node:test";
import { ask, get } from "./cachefetch.mjs";

async function begin(context) {
  const folder = mkdtempSync(join(tmpdir(), "cachefetch-"));
  process.env.CACHEFETCH_STORE = join(folder, "store.sqlite");
  const origin = { body: Buffer.from("first") };
  const server = createServer((_, response) => response.end(origin.body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  origin.url = `http://127.0.0.1:${server.address().port}/news`;
  origin.stop = () => (server.closeAllConnections(), server.close());
  context.after(() => (origin.stop(), rmSync(folder, { recursive: true })));
  return origin;
}

async function deliveries(...words) {
  const all = [];
  for await (const { delivery, bytes } of get(...words)) all.push([delivery, bytes.toString("latin1")]);
  return all;
}

test("stored, then fresh, then a failure", async (context) => {
  const origin = await begin(context);
  assert.deepEqual(await deliveries(origin.url), [["fresh", "first"]]);
  origin.body = Buffer.from("\xff\x00second", "latin1");
  assert.deepEqual(await deliveries(origin.url), [["stored", "first"], ["fresh", "\xff\x00second"]]);
  origin.stop();
  assert.deepEqual(await deliveries(origin.url, "--retry", "0"), [["stored", "\xff\x00second"], ["failure", ""]]);
});

test("leaving early ends the command", async (context) => {
  const origin = await begin(context);
  await deliveries(origin.url);
  for await (const { delivery } of get(origin.url)) {
    assert.equal(delivery, "stored");
    break;
  }
});

test("a wrong option, and a program that is not there, are thrown", async (context) => {
  const origin = await begin(context);
  await assert.rejects(deliveries(origin.url, "--nonsense"), { status: 64, message: /--nonsense/ });
  const path = process.env.PATH;
  process.env.PATH = "/nowhere";
  await assert.rejects(deliveries(origin.url), { code: "ENOENT" });
  process.env.PATH = path;
});

test("a process that serves is asked", async (context) => {
  const origin = await begin(context);
  const child = spawn("cachefetch", ["serve", "-v"], { stdio: ["ignore", "ignore", "pipe"] });
  context.after(() => child.kill());
  for await (const line of createInterface({ input: child.stderr })) if (line.includes("listening")) break;
  const store = process.env.CACHEFETCH_STORE;
  const kinds = [];
  for await (const { delivery, bytes } of ask(store, origin.url)) kinds.push([delivery, bytes.toString()]);
  for await (const { delivery } of ask(store, origin.url, { max_age: "1h" })) kinds.push(delivery);
  assert.deepEqual(kinds, [["fresh", "first"], "stored"]);
  await assert.rejects(ask(store, origin.url, { nonsense: 1 }).next(), /nonsense/);
});
