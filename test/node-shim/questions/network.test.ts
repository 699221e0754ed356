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

test("processes with line breaks in their names → one line for each socket", async () => {
  const ss =
    'tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("a\nudp UNCONN 0 0",pid=7,fd=3),("\n\nx",pid=8,fd=3))\n' +
    "udp UNCONN 0 0 [::1]:53 *:*\n";
  const lines = await collected(network({}, played({ ss, ip: "" })));
  expect(lines.slice(lines.indexOf("listening sockets:") + 1)).toEqual([
    '  tcp LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("a\nudp UNCONN 0 0",pid=7,fd=3),("\n\nx",pid=8,fd=3))',
    "  udp UNCONN 0 0 [::1]:53 *:*",
  ]);
});
