// Tests the local Worker's answers from static files, and the requests that it passes to the Worker. test/page
// tests the same requests with workerd, and compares the answers with wrangler's.
import { expect, test } from "vitest";
import { staticAnswer } from "../../../infra/local/static-files.ts";

const FILES: Readonly<Record<string, string>> = {
  "/index.html": "<p>",
  "/page/main-A.js": "1",
  "/_headers": "/*",
  "/page": "[]",
  "/v1/x.json": "{}",
  "/secret.pem": "key",
};

/** Sends a request. Returns the paths that were read from the disk, and the answer. */
async function asked(method: string, path: string, headers: Record<string, string> = {}) {
  const paths: string[] = [];
  const disk = {
    fetch: (url: string) => {
      const { pathname } = new URL(url);
      paths.push(pathname);
      const text = FILES[pathname];
      return Promise.resolve(new Response(text ?? null, { status: text === undefined ? 404 : 200 }));
    },
  };
  const answer = await staticAnswer(new Request(`http://rollcall.test${path}`, { method, headers }), disk);
  return { paths, answer };
}

const statusOf = async (...[method, path, headers]: Parameters<typeof asked>) =>
  (await asked(method, path, headers)).answer?.status ?? "the Worker's";

test.each<[method: string, path: string, status: number | "the Worker's"]>([
  ["GET", "/", 200],
  ["GET", "/?view=approvals", 200],
  ["HEAD", "/", 200],
  ["POST", "/", 405],
  ["GET", "/index.html", 307],
  ["GET", "/index", 307],
  ["GET", "/page/main-A.js", 200],
  ["GET", "/page/main-B.js", "the Worker's"],
  ["POST", "/page/main-B.js", "the Worker's"],
  ["GET", "/page", "the Worker's"],
  ["GET", "/_headers", "the Worker's"],
  ["GET", "/v1/x.json", "the Worker's"],
  ["GET", "/secret.pem", "the Worker's"],
  ["GET", "/page/%2e%2e/index.html", 307],
  ["GET", "/page/..%2findex.html", "the Worker's"],
])("%s %s → %s", async (method, path, status) => {
  expect(await statusOf(method, path)).toBe(status);
});

test.each(["/livez", "/v1/nodes/edge-1/report", "/v1/x.json", "/secret.pem", "/page/", "/.env"])(
  "%s → nothing is read",
  async (path) => {
    expect(await asked("GET", path)).toEqual({ paths: [], answer: null });
  },
);

test.each<[situation: string, tag: (etag: string) => string, status: number]>([
  ["its tag", (etag) => etag, 304],
  ["its tag, made weak in between", (etag) => `W/${etag}`, 304],
  ["its tag among others", (etag) => `"a", ${etag}`, 304],
  ["any", () => "*", 304],
  ["another one", () => '"a"', 200],
])("a browser has %s", async (_, tag, status) => {
  const etag = (await asked("GET", "/")).answer?.headers.get("etag") ?? "";
  expect(etag).toMatch(/^"[0-9a-f]{32}"$/);
  expect(await statusOf("GET", "/", { "if-none-match": tag(etag) })).toBe(status);
});
