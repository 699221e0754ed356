// Floods an apiserver, in a process of its own, like eight machines whose Workers have no limits. It writes
// statuses with alternating lists of images over many connections, until it is ended. Arguments: URL CA-FILE
// TOKEN-FILE CONNECTIONS
import { readFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { setTimeout as wait } from "node:timers/promises";

const [url = "", caFile = "", tokenFile = "", connections = "1"] = process.argv.slice(2);
const NODES = 8;
/**
 * The number of image names. With IMAGE_NAME_LENGTH characters each they have 38 KiB, the size of a Node's images.
 */
const IMAGES = 38;
const IMAGE_NAME_LENGTH = 1000;
const BUSY_WAIT_MS = 1000;

const agent = new Agent({ keepAlive: true, ca: readFileSync(caFile) });
const bodies = ["a", "b"].map((list) => {
  const names = Array.from({ length: IMAGES }, (_, at) => `${list}-${at}`.padEnd(IMAGE_NAME_LENGTH, "x"));
  return JSON.stringify({ status: { images: names.map((name) => ({ names: [name], sizeBytes: 1 })) } });
});
const headers = {
  authorization: `Bearer ${readFileSync(tokenFile, "utf8")}`,
  "content-type": "application/merge-patch+json",
};

/** Writes one status. Returns the answer's HTTP status, or 0 if there was no answer. */
function write(node: number, body: string): Promise<number> {
  return new Promise((answered) => {
    const path = `${url}/api/v1/nodes/flood-${node}/status`;
    request(path, { agent, method: "PATCH", headers }, (response) => {
      response.resume().on("end", () => answered(response.statusCode ?? 0));
    })
      .on("error", () => answered(0))
      .end(body);
  });
}

async function flood(connection: number): Promise<never> {
  for (let turn = 0; ; turn++) {
    const code = await write(connection % NODES, bodies[turn % bodies.length] ?? "");
    if (code === 429 || code === 0) await wait(BUSY_WAIT_MS);
  }
}

await Promise.all(Array.from({ length: Number(connections) }, (_, connection) => flood(connection)));
