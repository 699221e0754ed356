// Tests which words the shell's completion suggests.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, it, test } from "vitest";
import { inThisProcess } from "../../e2e/own-worker.ts";

let server: Server;
let url: string;
beforeAll(async () => {
  server = createServer((request, response) => {
    const machines = [
      { name: "edge-1", state: "ready" },
      { name: "edge-2", state: "silent" },
      { name: "x-edge", state: "ready" },
    ];
    response.end(request.url?.startsWith("/v1/machines?") ? JSON.stringify({ machines }) : "");
  });
  await new Promise<void>((ready) => void server.listen(0, "127.0.0.1", ready));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());

const complete = async (words: string[], environment = {}) => {
  const ended = await inThisProcess(["__complete", ...words], environment);
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return ended.stdout.trimEnd().split("\n");
};

test.each<[words: string[], has: string[], lacks: string[]]>([
  [[""], ["node\t", "explain\t", "context\t", ":4"], ["__complete"]],
  [["token", ""], ["create\tCreate", "list\t", "revoke\t"], ["node\t"]],
  [["token", "create", "--"], ["--names\t", "--expires-in\t", "--context\t", "--help\t"], ["--machines"]],
  [["--context", "a", "token", ""], ["create\tCreate"], ["node\t"]],
  [["-o", ""], ["wide", "json", "yaml"], ["node\t"]],
  [["audit", "--output="], [":4"], ["wide"]],
  [["audit", "--output=j"], [":4"], []],
  [["node", "set", "edge-1", "--runtime", ""], ["none", "auto"], ["set\t"]],
  [["completion", ""], ["bash", "zsh", "fish"], []],
  [["explain", ""], ["two-shims\tphase", "silent\tstate", "DiskPressure\tcondition"], []],
  [["--secret-file", ""], [":0"], []],
  [["rules", "apply", "-f", ""], [":0"], []],
  [["rules", "check", ""], [":0"], []],
  [["nonsense", "more", ""], [":4"], []],
])("%j → %j", async (words, has, lacks) => {
  const lines = await complete(words);
  const begins = (start: string) => lines.some((line) => line.startsWith(start));
  expect(has.filter((start) => !begins(start))).toEqual([]);
  expect(lacks.filter(begins)).toEqual([]);
});

it("a machine's name → the Worker's, of those that begin so; without an answer none, and no word", async () => {
  const environment = { ROLLCALL_URL: url, ROLLCALL_SECRET: "s" };
  expect(await complete(["forget", "ed"], environment)).toEqual(["edge-1\tready", "edge-2\tsilent", ":4"]);
  expect(
    await complete(["forget", ""], { ROLLCALL_URL: "http://127.0.0.1:9", ROLLCALL_SECRET: "s" }),
  ).toEqual([":4"]);
  expect(await complete(["forget", ""])).toEqual([":4"]);
});

test.each<[words: string[], isAsked: boolean]>([
  [["nodes", "--state", "silent", "--beside", ""], true],
  [["nodes", "--state=silent", "--beside", ""], true],
  [["forget", "--state", "silent", ""], true],
  [["machines", "--beside", ""], true],
  [["machines", "--state", "silent", "--beside", ""], true],
  [["--state", "/nowhere", "nodes", "--state", "silent", "--beside", ""], false],
  [["node", "--state", "/nowhere", ""], false],
])("%j → the Worker of the environment is asked: %s", async (words, isAsked) => {
  const lines = await complete(words, { ROLLCALL_URL: url, ROLLCALL_SECRET: "s" });
  expect(lines.includes("edge-1\tready")).toBe(isAsked);
});
