// Tests how operators see texts that machines chose.
import { expect, it, test } from "vitest";
import { auditList, clusterList, historyList } from "../../../infra/operator/log-commands.ts";
import { nodeScreen } from "../../../infra/operator/fleet/machine-screen.ts";
import { senderList } from "../../../infra/operator/node-commands.ts";
import { pendingList } from "../../../infra/operator/key-commands.ts";
import { readinessShown } from "../../../infra/operator/status-command.ts";
import { PIPE } from "../../../infra/operator/render/terminal.ts";
import type { Shown } from "../../../infra/operator/render/shown.ts";
import { tokenList } from "../../../infra/operator/token-commands.ts";
import { wholeNode } from "./made-up-node.ts";

const textOf = ({ text }: Shown) => text({ screen: PIPE, nowMs: Date.parse(at), isWide: false });

const EVIL = "a\u001B[2J\r\u202Eb";
const at = "2026-01-02T03:04:05Z";
const machine = { thumbprint: EVIL, machineID: EVIL, systemUUID: EVIL, address: EVIL };
const pinned = { ...machine, pinnedAt: at, hasReported: true };
const pending = { name: EVIL, token: EVIL, ...machine, askedAt: at, expiresAt: at, pinned };
const token = { id: "i", names: EVIL, state: "valid" as const, used: 0, reserved: 0, uses: 1, expiresAt: at };
const more = { createdBy: EVIL, createdAt: at, rejoin: false, withoutFactsOnlyTaint: false };

const conditions = [{ type: EVIL, status: EVIL, message: EVIL }];
const node = wholeNode({ name: EVIL, thumbprint: EVIL, phase: EVIL, runtime: EVIL, conditions });

const sender = { machineID: EVIL, bootID: EVIL, process: EVIL, since: at, isBelieved: true };
const check = { check: "ORIGINS", state: "failed", message: "it is empty", checkedAt: at, since: at };

it("readiness → a line for each check, and what to do below it", () => {
  const well = { ...check, check: "apiserver", state: "ok", message: "it answers" };
  expect(textOf(readinessShown({ state: "failed", checks: [{ ...check, cure: "set it" }, well] }))).toBe(
    "failed   ORIGINS    it is empty\n                    → set it\nok       apiserver  it answers\n",
  );
});

it.each([
  ["a machine", nodeScreen(node, [{ id: 1, at, kind: EVIL, text: EVIL }], EVIL)],
  ["machines that wait", pendingList([pending])],
  ["the audit log", auditList([{ id: 1, at, who: EVIL, what: EVIL, target: EVIL, detail: EVIL }])],
  ["a history", historyList([{ id: 1, at, kind: EVIL, text: EVIL }])],
  ["the cluster's history", clusterList([{ id: 1, at, text: EVIL }])],
  ["senders", senderList({ double: null, senders: [sender] })],
  ["tokens", tokenList([{ ...token, ...more }])],
  ["readiness", readinessShown({ state: EVIL, checks: [{ ...check, message: EVIL, cure: EVIL }] })],
])("%s: control characters are replaced, the text stays", (_, shown) => {
  const table = textOf(shown);
  expect(table).toContain("a\u{FFFD}[2J \u{FFFD}b");
  expect(table.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test.each<[situation: string, roles: string[] | undefined, shown: string]>([
  ["none of its own", undefined, "0/1"],
  ["no roles at all", [], "0/1    <none>"],
  ["two", ["edge", "gpu"], "0/1    edge,gpu"],
])("a token with %s → ROLES says so", (_, roles, shown) => {
  const plain = { ...token, names: "edge-*", ...more, createdBy: "admin", ...(roles && { roles }) };
  const [head, row] = textOf(tokenList([plain])).split("\n");
  expect(head).toMatch(/USED +ROLES +EXPIRES/);
  expect(row?.replace(/ +2026.*/, "")).toBe(`i    edge-*   valid   ${shown}`);
});

test.each<[situation: string, marked: object, shown: string]>([
  ["that decides on limits", {}, "edge-*"],
  ["whose request did not decide on limits", { note: "no mayAll" }, "edge-* (without limits)"],
  ["with an earlier rule of names", { namesBelow: true }, "edge-* (any DNS name below it)"],
])("a token %s → its NAMES say so", (_, marked, shown) => {
  const [, row] = textOf(tokenList([{ ...token, ...more, names: "edge-*", ...marked }])).split("\n");
  expect(row?.slice("i    ".length)).toMatch(new RegExp(`^${shown.replaceAll(/[*()]/g, "\\$&")} +valid`));
});

it("the cluster's history → oldest first, as it is read", () => {
  const entry = (id: number) => ({ id, at: `2026-01-02T03:04:0${id}Z`, text: `entry ${id}` });
  const shown = textOf(clusterList([entry(2), entry(1)]));
  expect(shown).toMatch(/WHEN\s+2026-01-02T03:04:01Z +entry 1\s+2026-01-02T03:04:02Z +entry 2\s+$/);
});
