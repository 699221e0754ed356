// Tests the URLs to which a machine may post: its reports must be unreadable for everybody but the Worker.
import { expect, it } from "vitest";
import { makeMachineKey } from "../../../node-shim/identity/identity.ts";
import type { RequestFault } from "../../../node-shim/worker-link/exchange.ts";
import { namingOrigin, originOf } from "../../../node-shim/worker-link/origin.ts";
import { leave } from "../../../node-shim/worker-link/requests.ts";
import { failure, success } from "../../../shared/result.ts";
import { problem } from "../../../worker/problems.ts";

it.each([
  ["https", "https://rollcall.example.com", "https://rollcall.example.com"],
  ["http to this machine", "http://127.0.0.1:8787", "http://127.0.0.1:8787"],
  ["http to this machine by IPv6", "http://[::1]:8787/", "http://[::1]:8787"],
])("%s → used", (_, url, origin) => {
  expect(originOf(url, "--url")).toBe(origin);
});

it.each([
  ["http to another machine", "http://rollcall.example.com", /only https/],
  ["http to a name that starts like loopback", "http://localhost.example.com", /only https/],
  ["a path", "https://rollcall.example.com/x", /must read/],
  ["a user", "https://a@rollcall.example.com", /must read/],
  ["another scheme", "ftp://rollcall.example.com", /must read/],
])("%s → refused", (_, url, message) => {
  expect(() => originOf(url, "--url")).toThrow(message);
});

// Tests the refusal of the origin that a machine signs for: the machine adds this origin to the message.

const ORIGIN = "https://before.example.com";
const refused = (...args: Parameters<typeof problem>) =>
  failure<RequestFault>({ reason: "refused", problem: problem(...args), retryAfterMs: 7 });

it("a refused origin → the one that this machine signs for, after the advice to the operator", () => {
  const { detail } = problem("wrong-origin");
  expect(namingOrigin(refused("wrong-origin"), ORIGIN)).toEqual(
    refused("wrong-origin", { detail: `${detail} It signs for ${ORIGIN}.` }),
  );
});

it.each([
  ["an answer", success({ left: true })],
  ["another refusal", refused("unauthenticated")],
  ["no answer", failure<RequestFault>({ reason: "failed", message: "no" })],
])("%s → unchanged", (_, outcome) => {
  expect(namingOrigin<unknown>(outcome, ORIGIN)).toBe(outcome);
});

it("a machine with such a refusal → its commands print it", async () => {
  const send = async () => ({ status: 401, body: JSON.stringify(problem("wrong-origin")) });
  const machine = { name: "edge-1", origin: ORIGIN, key: await makeMachineKey(), kid: "k" };
  expect(await leave(send, machine)).toMatchObject({
    error: {
      problem: { detail: expect.stringMatching(/--url\)\. It signs for https:\/\/before\.example\.com\.$/) },
    },
  });
});
