// Tests how the answer to a watch is read line by line, and how each watch ends.
import { afterEach, describe, expect, it, test, vi } from "vitest";
import {
  LOOK_EVERY_MS,
  MAX_LINE,
  type NodeChange,
  SILENT_FOR_MS,
  type WatchEnd,
  watchObjects,
} from "../../../worker/kube/watch-stream.ts";
import { pass, timers } from "../support/clock.ts";

afterEach(() => {});

const node = (name: string, resourceVersion: string) => ({ metadata: { name, resourceVersion } });
const line = (type: string, object: unknown) => JSON.stringify({ type, object });
const ADDED = line("ADDED", node("a", "5"));
const MODIFIED = line("MODIFIED", node("a", "6"));
const DELETED = line("DELETED", node("a", "7"));
const BOOKMARK = line("BOOKMARK", { kind: "Node", metadata: { resourceVersion: "8" } });
const error = (status: object) => line("ERROR", { kind: "Status", apiVersion: "v1", ...status });

/** Returns an answer that sends these pieces and then ends; with `hangs`, it does not end. */
function streamed(pieces: readonly (string | Uint8Array)[], hangs = false): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces)
        controller.enqueue(typeof piece === "string" ? encoder.encode(piece) : piece);
      if (!hangs) controller.close();
    },
  });
  return new Response(body);
}

type Answer = Response | Error | "never";

interface Watching {
  /** Handles a change of a Node. By default the watch only waits for the end of the stream. */
  onChange?: (change: NodeChange, abort: AbortController) => void;
  otherToken?: (refused: string) => Promise<string | null>;
  isAborted?: boolean;
}

/** Watches an apiserver with these answers, one for each request. */
async function watched(answers: Answer | Answer[], { onChange, otherToken, isAborted }: Watching = {}) {
  const left = Array.isArray(answers) ? [...answers] : [answers];
  const sent: { url: string; init: RequestInit }[] = [];
  const changes: NodeChange[] = [];
  const abort = new AbortController();
  if (isAborted) abort.abort();
  let opened = 0;
  const connection = {
    url: "https://kube.test",
    token: () => "cluster-token",
    ...(otherToken && { otherToken }),
    fetch: (url: string, init: RequestInit) => {
      sent.push({ url, init });
      const answer = left.shift() ?? new Error("nothing is left");
      if (answer === "never") return new Promise<Response>(() => undefined);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  const end = await watchObjects(connection, {
    resource: "nodes",
    selector: { labelSelector: "rollcall.dev/deployment=rollcall" },
    version: "4",
    timeoutSeconds: 290,
    signal: abort.signal,
    onOpen: () => void opened++,
    onChange: (change) => {
      changes.push(change);
      onChange?.(change, abort);
    },
  });
  return { end, changes, sent, opened };
}

const byAnother = (code: number): WatchEnd => ({
  kind: "failed",
  error: {
    kind: "unanswered",
    message: expect.stringMatching(`^HTTP ${code} without an object of the apiserver's: `) as string,
    cure: expect.any(String) as string,
  },
});
const unanswered = (message: string): WatchEnd => ({
  kind: "failed",
  error: { kind: "unanswered", message },
});
const ENDED: WatchEnd = { kind: "ended" };
const EXPIRED: WatchEnd = { kind: "expired" };
const NO_CHANGE = unanswered("a line of the watch is no change");

describe("a watch", () => {
  it("requests the changes after a version, with bookmarks, and does not follow a redirect", async () => {
    const { sent, opened } = await watched(streamed([]));
    expect(sent.map(({ url }) => url)).toEqual([
      "https://kube.test/api/v1/nodes?watch=1&labelSelector=rollcall.dev%2Fdeployment%3Drollcall" +
        "&resourceVersion=4&allowWatchBookmarks=true&timeoutSeconds=290",
    ]);
    expect(sent[0]?.init).toMatchObject({
      method: "GET",
      headers: { authorization: "Bearer cluster-token", "user-agent": "rollcall" },
      redirect: "manual",
    });
    expect(opened).toBe(1);
  });

  it("returns each change with its Node and its length", async () => {
    const { changes, end } = await watched(streamed([[ADDED, MODIFIED, DELETED, BOOKMARK].join("\n"), "\n"]));
    expect([changes, end]).toEqual([
      [
        { type: "ADDED", object: node("a", "5"), length: ADDED.length },
        { type: "MODIFIED", object: node("a", "6"), length: MODIFIED.length },
        { type: "DELETED", object: node("a", "7"), length: DELETED.length },
        { type: "BOOKMARK", version: "8", length: BOOKMARK.length },
      ],
      ENDED,
    ]);
  });
});

const ACCENT = new TextEncoder().encode(`${line("ADDED", node("é", "5"))}\n`);
const at = ACCENT.indexOf(0xc3) + 1;

test.each<[situation: string, pieces: (string | Uint8Array)[], types: string[], end: WatchEnd]>([
  ["nothing", [], [], ENDED],
  ["several lines in a piece", [`${ADDED}\n${MODIFIED}\n`], ["ADDED", "MODIFIED"], ENDED],
  [
    "a line in several pieces",
    [ADDED.slice(0, 9), ADDED.slice(9, 30), `${ADDED.slice(30)}\n`],
    ["ADDED"],
    ENDED,
  ],
  [
    "the end of one and the beginning of the next",
    [`${ADDED}\n${MODIFIED.slice(0, 5)}`, `${MODIFIED.slice(5)}\n`],
    ["ADDED", "MODIFIED"],
    ENDED,
  ],
  ["a character in two pieces", [ACCENT.slice(0, at), ACCENT.slice(at)], ["ADDED"], ENDED],
  ["empty lines between", [`\n\n${ADDED}\n\n`], ["ADDED"], ENDED],
  ["a line that is cut: it comes again", [`${ADDED}\n${MODIFIED.slice(0, 30)}`], ["ADDED"], ENDED],
  ["a version that is gone, by its code", [`${error({ code: 410 })}\n${ADDED}\n`], [], EXPIRED],
  ["a version that is gone, by its reason", [`${error({ reason: "Expired" })}\n`], [], EXPIRED],
  [
    "a version that is gone, later on",
    [`${ADDED}\n${error({ code: 410, reason: "Gone" })}\n`],
    ["ADDED"],
    EXPIRED,
  ],
  [
    "a version that is too new",
    [`${error({ code: 504, details: { causes: [{ reason: "ResourceVersionTooLarge" }] } })}\n`],
    [],
    EXPIRED,
  ],
  [
    "another error",
    [`${ADDED}\n${error({ code: 500, reason: "InternalError" })}\n${MODIFIED}\n`],
    ["ADDED"],
    {
      kind: "failed",
      error: {
        kind: "status",
        status: { kind: "Status", apiVersion: "v1", code: 500, reason: "InternalError" },
      },
    },
  ],
  ["a tunnel's page", ["<html>\n<body>"], [], NO_CHANGE],
  ["JSON that is no object", ["[]\n"], [], NO_CHANGE],
  ["a Status instead of a watch", [`${JSON.stringify({ kind: "Status", code: 500 })}\n`], [], NO_CHANGE],
  ["an unknown type", [`${line("RENAMED", node("a", "5"))}\n`], [], NO_CHANGE],
  ["a change without an object", [`${line("ADDED", null)}\n${MODIFIED}\n`], [], NO_CHANGE],
  ["a Node without a name", [`${line("ADDED", { metadata: {} })}\n`], [], NO_CHANGE],
  ["a Node whose name is none", [`${line("DELETED", { metadata: { name: 7 } })}\n`], [], NO_CHANGE],
  ["a bookmark without a version", [`${line("BOOKMARK", { metadata: {} })}\n`], [], NO_CHANGE],
])("%s", async (_, pieces, types, end) => {
  const outcome = await watched(streamed(pieces));
  expect([outcome.changes.map(({ type }) => type), outcome.end]).toEqual([types, end]);
});

describe("a line", () => {
  const ofLength = (length: number) => {
    const empty = line("ADDED", { metadata: { name: "a" }, more: "" }).length;
    return line("ADDED", { metadata: { name: "a" }, more: "x".repeat(length - empty) });
  };
  const inPieces = (text: string) => [text.slice(0, 1000), text.slice(1000, -1), text.slice(-1), "\n"];

  test.each<[situation: string, pieces: string[], types: string[], end: WatchEnd]>([
    ["as long as it may be", [`${ofLength(MAX_LINE)}\n`], ["ADDED"], ENDED],
    ["as long, in pieces", inPieces(ofLength(MAX_LINE)), ["ADDED"], ENDED],
    [
      "longer by one",
      [`${ADDED}\n${ofLength(MAX_LINE + 1)}\n`],
      [],
      unanswered("a change is longer than 2097152 characters"),
    ],
    [
      "longer by one, in pieces",
      inPieces(ofLength(MAX_LINE + 1)),
      [],
      unanswered("a change is longer than 2097152 characters"),
    ],
    [
      "that never ends",
      ["x".repeat(MAX_LINE + 1)],
      [],
      unanswered("a change is longer than 2097152 characters"),
    ],
  ])("%s", async (_, pieces, types, end) => {
    const outcome = await watched(streamed(pieces));
    expect([outcome.changes.map(({ type }) => type), outcome.end]).toEqual([types, end]);
  });
});

const status = (code: number, more: object = {}) => ({ kind: "Status", apiVersion: "v1", code, ...more });
const refused = (code: number, body: unknown, headers: Record<string, string> = {}) =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), { status: code, headers });

describe("an answer that is not a watch", () => {
  test.each<[situation: string, answer: Answer, end: WatchEnd]>([
    [
      "403",
      refused(403, status(403, { reason: "Forbidden" })),
      { kind: "failed", error: { kind: "status", status: status(403, { reason: "Forbidden" }) } },
    ],
    ["410", refused(410, status(410)), EXPIRED],
    [
      "504 for a version that is too new",
      refused(504, status(504, { details: { causes: [{ reason: "ResourceVersionTooLarge" }] } })),
      EXPIRED,
    ],
    [
      "429 with a time",
      refused(429, status(429), { "retry-after": "7" }),
      { kind: "failed", error: { kind: "status", status: status(429) }, retryAfterMs: 7000 },
    ],
    [
      "429 with no time at all",
      refused(429, status(429), { "retry-after": "0" }),
      { kind: "failed", error: { kind: "status", status: status(429) }, retryAfterMs: 1000 },
    ],
    [
      "429 as text, with a time",
      refused(429, "Too many requests", { "retry-after": "1" }),
      { ...unanswered("HTTP 429 without an object of the apiserver's"), retryAfterMs: 1000 } as WatchEnd,
    ],
    [
      "a time that is a date",
      refused(503, "", { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }),
      unanswered("HTTP 503 without an object of the apiserver's"),
    ],
    ["a tunnel's page", refused(502, "<html>"), byAnother(502)],
    ["a redirect", refused(302, "", { location: "https://login.test" }), byAnother(302)],
    ["200 without a body", new Response(null), unanswered("HTTP 200 without an object of the apiserver's")],
    ["none", new Error("connection refused"), unanswered("connection refused")],
  ])("%s", async (_, answer, end) => {
    const outcome = await watched(answer);
    expect([outcome.end, outcome.changes, outcome.opened]).toEqual([end, [], 0]);
  });
});

describe("a token that is refused", () => {
  const tokens = ({ sent }: Awaited<ReturnType<typeof watched>>) =>
    sent.map(({ init }) => new Headers(init.headers).get("authorization"));
  const REFUSED = () => refused(401, status(401, { reason: "Unauthorized" }));

  it("→ another token at once", async () => {
    const otherToken = vi.fn(() => Promise.resolve("renewed"));
    const outcome = await watched([REFUSED(), streamed([`${ADDED}\n`])], { otherToken });
    expect([tokens(outcome), outcome.end]).toEqual([["Bearer cluster-token", "Bearer renewed"], ENDED]);
    expect(otherToken).toHaveBeenCalledWith("cluster-token");
  });

  it.each([
    ["without another", () => Promise.resolve(null), 1],
    ["like the other", () => Promise.resolve("renewed"), 2],
  ])("%s → that is why it failed", async (_, otherToken, times) => {
    const outcome = await watched([REFUSED(), REFUSED(), streamed([])], { otherToken });
    expect(outcome.sent).toHaveLength(times);
    expect(outcome.end).toMatchObject({ kind: "failed", error: { status: { code: 401 } } });
  });
});

describe("a watch that does not end by itself", () => {
  it("and is not answered → failed after 10 s, and its request is aborted", async () => {
    const watching = watched("never");
    await pass(10_000);
    const { end, sent } = await watching;
    expect([end, sent[0]?.init.signal?.aborted]).toEqual([unanswered("no answer in time"), true]);
  });

  it("and is silent → failed after two minutes; each line restarts them, and no timer is left", async () => {
    const { readable, writable } = new TransformStream<Uint8Array>();
    const writer = writable.getWriter();
    const say = (text: string) => writer.write(new TextEncoder().encode(text));
    let isOver = false;
    const watching = watched(new Response(readable)).finally(() => (isOver = true));
    await pass(SILENT_FOR_MS - 1);
    await say(`${BOOKMARK}\n`);
    await pass(SILENT_FOR_MS - 1);
    expect(isOver).toBe(false);
    await pass(LOOK_EVERY_MS);
    const { end, changes, sent } = await watching;
    expect([end, changes.length]).toEqual([unanswered("nothing came for 120 s"), 1]);
    expect([sent[0]?.init.signal?.aborted, timers()]).toEqual([true, 0]);
  });

  it("and is ended by its reader → ended, its request aborted, no timer left a second later", async () => {
    const { end, changes, sent } = await watched(streamed([`${ADDED}\n`], true), {
      onChange: (_, abort) => abort.abort(),
    });
    expect([end, changes.length]).toEqual([ENDED, 1]);
    await pass(LOOK_EVERY_MS);
    expect([sent[0]?.init.signal?.aborted, timers()]).toEqual([true, 0]);
  });

  it("and is ended before it begins → no request", async () => {
    const { end, sent } = await watched(streamed([]), { isAborted: true });
    expect([end, sent]).toEqual([ENDED, []]);
  });
});
