// Tests the URLs to which a machine may post: its reports must be unreadable for everybody but the Worker.
import { expect, it, onTestFinished } from "vitest";
import { makeMachineKey, storeEnrolment } from "../../../node-shim/identity/identity.ts";
import type { RequestFault } from "../../../node-shim/worker-link/exchange.ts";
import {
  findOrigin,
  hostOf,
  namingOrigin,
  originOf,
  servernameOf,
} from "../../../node-shim/worker-link/origin.ts";
import { leave } from "../../../node-shim/worker-link/requests.ts";
import { failure, success } from "../../../shared/result.ts";
import { problem } from "../../../worker/problems.ts";
import { temporaryFolder } from "../base/temporary-folder.ts";

it.each([
  ["https", "https://rollcall.example.com", "https://rollcall.example.com"],
  ["http to this machine", "http://127.0.0.1:8787", "http://127.0.0.1:8787"],
  ["http to this machine by name", "http://localhost:8787", "http://localhost:8787"],
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
  ["another scheme on this machine", "ftp://localhost", /must read/],
  ["no URL", "rollcall.example.com", /^--url rollcall\.example\.com: must read https:\/\/HOST$/],
])("%s → refused", (_, url, message) => {
  expect(() => originOf(url, "--url")).toThrow(message);
});

it.each([
  ["a name", "https://a.example.com:8443", "a.example.com", "a.example.com"],
  ["an IPv4 address", "https://192.0.2.1", "192.0.2.1", ""],
  ["an IPv6 address", "https://[2001:db8::1]:8443", "2001:db8::1", ""],
])("a URL with %s → its host, and the name for SNI", (_, url, host, servername) => {
  expect([hostOf(new URL(url)), servernameOf(new URL(url))]).toEqual([host, servername]);
});

// Tests the place where the origin is set.

const [FLAG, SET, STORED] = ["https://flag.example", "https://set.example", "https://stored.example"];

/** Finds the origin with a state folder that has the enrolment of this Worker, or no enrolment. */
function found(stored: string | null, flags: { url?: string }, environment: NodeJS.ProcessEnv) {
  const { path: state, remove } = temporaryFolder();
  onTestFinished(remove);
  const enrolment = { name: "edge-1", thumbprint: "t", kid: "k" };
  if (stored !== null) storeEnrolment(state, { ...enrolment, ...(stored !== "" && { origin: stored }) });
  const { origin, source } = findOrigin({ ...flags, state }, environment);
  return [origin, source === state ? "the state folder" : source];
}

it.each([
  ["--url, before all others", STORED, { url: `${FLAG}/` }, { ROLLCALL_URL: SET }, [FLAG, "--url"]],
  ["ROLLCALL_URL, before the enrolment", STORED, {}, { ROLLCALL_URL: SET }, [SET, "ROLLCALL_URL"]],
  ["the enrolment", STORED, {}, { ROLLCALL_URL: "" }, [STORED, "the state folder"]],
])("the Worker of %s", (_, stored, flags, environment, expected) => {
  expect(found(stored, flags, environment)).toEqual(expected);
});

it.each<[situation: string, stored: string | null, flags: { url?: string }, set: string, message: RegExp]>([
  ["no enrolment", null, {}, "", /^which Worker\? Pass --url https:\/\/HOST/],
  ["an enrolment of an earlier shim, without an origin", "", {}, "", /^which Worker\?/],
  ["an empty --url", STORED, { url: "" }, SET, /^--url : must read/],
  ["an unusable ROLLCALL_URL", STORED, {}, "set.example", /^ROLLCALL_URL set\.example: must read/],
  ["an unusable origin in the state folder", "x", {}, "", /^\/\S+ x: must read/],
])("%s → an error with the setting", (_, stored, flags, set, message) => {
  expect(() => found(stored, flags, { ROLLCALL_URL: set })).toThrow(message);
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
