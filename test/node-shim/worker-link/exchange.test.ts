// Tests how an answer, or a missing one, is classified.
import { expect, test } from "vitest";
import {
  exchange,
  LateAnswer,
  requestFaultText,
  type RequestFault,
  type TransportResponse,
} from "../../../node-shim/worker-link/exchange.ts";
import { failure, success } from "../../../shared/result.ts";

const REQUEST = { method: "POST", path: "/v1", headers: {}, body: "" } as const;
const ANSWER = JSON.stringify("the answer");
const read = (body: unknown) => (body === "the answer" ? body : null);
const failed = (message: string, more: object = {}) => failure({ reason: "failed", message, ...more });
const other = (what: string, more?: object) => failed(`${what}: is this a rollcall Worker?`, more);
const WAIT = { retryAfterMs: 7000 };

test.each<[situation: string, response: TransportResponse | Error, outcome: object]>([
  ["200", { status: 200, body: ANSWER }, success("the answer")],
  ["299", { status: 299, body: ANSWER }, success("the answer")],
  ["199", { status: 199, body: ANSWER }, other("HTTP 199 without a reason")],
  ["300", { status: 300, body: ANSWER }, other("HTTP 300 without a reason")],
  ["200 with another answer", { status: 200, body: "{}" }, other("an answer of another kind")],
  ["200 without JSON", { status: 200, body: "<html>" }, other("HTTP 200 without JSON")],
  ["a wait, and no JSON", { status: 502, body: "", ...WAIT }, other("HTTP 502 without JSON", WAIT)],
  ["no answer", new Error("socket hang up"), failed("socket hang up")],
  ["no answer in time", new LateAnswer("no answer"), failed("no answer", { isLate: true })],
])("%s", async (_, response, outcome) => {
  const send = () => (response instanceof Error ? Promise.reject(response) : Promise.resolve(response));
  expect(await exchange(send, REQUEST, read)).toStrictEqual(outcome);
});

test.each<[situation: string, body: string, title: string]>([
  ["the Worker's", '{"reason":"body-too-large","title":"Too large"}', "Too large"],
  ["a proxy's, without JSON", "<html>", "A proxy before the Worker refuses a report of this size (HTTP 413)"],
  ["a proxy's, in JSON", "{}", "A proxy before the Worker refuses a report of this size (HTTP 413)"],
])("413, %s → refused, with the wait", async (_, body, title) => {
  const outcome = await exchange(() => Promise.resolve({ status: 413, body, ...WAIT }), REQUEST, read);
  const problem = { status: 413, reason: "body-too-large", title };
  expect(outcome).toMatchObject({ ok: false, error: { reason: "refused", problem, ...WAIT } });
});

test.each<[situation: string, fault: RequestFault, text: string]>([
  ["no usable answer", { reason: "failed", message: "socket hang up" }, "socket hang up"],
  [
    "a refusal",
    {
      reason: "refused",
      problem: { type: "about:blank", status: 401, reason: "unauthenticated", title: "No", detail: "Why." },
    },
    "No",
  ],
])("the line for %s", (_, fault, text) => {
  expect(requestFaultText(fault)).toBe(text);
});
