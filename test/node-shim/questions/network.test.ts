// Tests the question about the network: each part is there, also where another part fails.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { network } from "../../../node-shim/questions/network.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";
import { collected, played } from "./asking.ts";

test("a machine without ss → all other parts, and the reason", async () => {
  const { path, remove } = temporaryFolder();
  onTestFinished(remove);
  mkdirSync(join(path, "etc"));
  writeFileSync(join(path, "etc/resolv.conf"), "# made by hand\nnameserver 192.0.2.53\nsearch example.com\n");
  const checkWorker = () =>
    Promise.resolve([{ check: "DNS", level: "fail" as const, message: "no address", todo: "check it" }]);
  const outputs = {
    "ip address": "1: lo\n",
    "ip -s": "1: lo\n",
    "ip route": "default via 192.0.2.1\n",
    "ip -6": "",
  };
  expect(await collected(network({}, played(outputs, { root: path, checkWorker })))).toEqual([
    "the Worker:",
    "  fail  DNS  no address",
    "             → check it",
    "name servers:",
    "  nameserver 192.0.2.53",
    "  search example.com",
    "addresses:",
    "  1: lo",
    "errors of links:",
    "  1: lo",
    "routes:",
    "  default via 192.0.2.1",
    "routes of IPv6:",
    "listening sockets:",
    "  ss is not installed on this machine",
  ]);
});
