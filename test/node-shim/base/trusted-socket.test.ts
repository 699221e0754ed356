// Tests connections to sockets whose path changes between the check and the connection.
import { once } from "node:events";
import { mkdirSync, renameSync, symlinkSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, onTestFinished } from "vitest";
import { openTrusted, type OpenTrusted } from "../../../node-shim/base/ownership.ts";
import { connectTrusted } from "../../../node-shim/base/trusted-socket.ts";
import { temporaryFolder } from "./temporary-folder.ts";

let folder: { path: string; remove: () => void };
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());
const at = (name: string) => join(folder.path, name);

/** Starts a server that sends its name to each client. */
async function serve(name: string): Promise<void> {
  mkdirSync(at(name), { mode: 0o755 });
  const server = createServer((socket) => socket.end(name));
  await once(server.listen(at(`${name}/s.sock`)), "listening");
  onTestFinished(() => void server.close());
}

async function received(open: OpenTrusted = openTrusted): Promise<string> {
  let text = "";
  for await (const chunk of connectTrusted(at("own/s.sock"), open)) text += String(chunk);
  return text;
}

it("the folder is swapped for a link after the check → the checked socket", async () => {
  await serve("own");
  await serve("other");
  const swapping: OpenTrusted = (...asked) => {
    const opened = openTrusted(...asked);
    renameSync(at("own"), at("aside"));
    symlinkSync(at("other"), at("own"));
    return opened;
  };
  expect(await received()).toBe("own");
  expect(await received(swapping)).toBe("own");
});

it("no socket, no server → the system's error with the socket's path", async () => {
  await expect(received()).rejects.toThrow(`connect ENOENT ${at("own/s.sock")}`);
});
