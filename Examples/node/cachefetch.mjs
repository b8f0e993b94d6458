// What cachefetch delivers for a URL: what is stored at once, then the fresh response or a failure.
//
//     for await (const delivery of get("https://api.example.com/news", "--max-age", "5m"))
//       console.log(delivery.delivery, delivery.change, delivery.bytes.toString());
//
// A delivery is one object of `cachefetch --json` (docs/delivery.schema.json), with its body as a Buffer in `bytes`.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";

/** Yields each delivery as it comes. Leaving the loop early ends the command. */
export async function* get(url, ...options) {
  const words = ["--json", "-sS", ...options, "--", url];
  const child = spawn("cachefetch", words, { stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "close");
  ended.catch(() => {}); // Where the program is not there, the loop throws.
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      yield read(line);
    }
    const [status] = await ended;
    // 3, 4 and 22 are in the deliveries; others mean that the command could not do what it was asked.
    if (![0, 3, 4, 22].includes(status)) throw Object.assign(new Error(said.trim()), { status });
  } finally {
    child.kill();
  }
}

/** The same from a `cachefetch serve` of that store (docs/serve.schema.json), over connections that it keeps. */
export async function* ask(store, url, members = {}) {
  const connection = connect(store + ".serve");
  try {
    await once(connection, "connect");
    connection.write(JSON.stringify({ url, ...members }) + "\n");
    for await (const line of createInterface({ input: connection })) {
      const answer = read(line);
      if (!answer.delivery) throw new Error(answer.error.message);
      yield answer;
    }
  } finally {
    connection.destroy();
  }
}

function read(line) {
  const delivery = JSON.parse(line);
  delivery.bytes = Buffer.from(delivery.body_base64 ?? delivery.body ?? "", delivery.body_base64 ? "base64" : "utf8");
  return delivery;
}
