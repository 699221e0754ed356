// Tests rollcall export and import: their requests, the file, and the errors for a malformed file.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { BackupPage } from "../../../shared/protocol/backup.ts";
import type { ImportState } from "../../../shared/protocol/administration-answers.ts";
import { type FakeWorker, fakeWorker, play } from "./played.ts";

const page = (number: number, isLast = false): BackupPage => ({
  rollcallBackup: 1,
  id: "b-1",
  page: number,
  isLast,
  at: "2026-01-01T12:00:00.000Z",
  deployment: "rollcall",
  table: "pins",
  columns: ["name"],
  rows: [["edge-1"]],
  mac: "a.mac",
});
const PAGES = [page(1), page(2), page(3, true)];
const lines = (pages: readonly unknown[]) => pages.map((each) => `${JSON.stringify(each)}\n`).join("");
const imported = (isDone: boolean, nextPage: number, back = 0): ImportState => ({
  import: {
    id: "b-1",
    isDone,
    at: "2026-01-01T12:00:00.000Z",
    who: "admin secret",
    nextPage,
    machines: isDone ? 3 : 0,
    back,
    notBack: isDone && back < 3 ? ["edge-1", "edge-2"] : [],
  },
});

const folder = mkdtempSync(join(tmpdir(), "rollcall-backup-"));
const file = join(folder, "backup.jsonl");
let worker: FakeWorker;
let state: ImportState;
let refusedPage: number | undefined;
beforeAll(async () => {
  worker = await fakeWorker(({ method, path, query, body }) => {
    if (path === "/v1/backup") {
      const at = Number(query["after"] ?? 0);
      const isRefused = refusedPage === at + 1;
      if (isRefused) return { status: 500, body: { reason: "internal", title: "Something went wrong here" } };
      return { body: { page: PAGES[at], next: at < 2 ? String(at + 1) : null } };
    }
    if (path === "/v1/origins")
      return {
        body: {
          origins: [{ origin: "https://new.test", isConfigured: true, lastUsedAt: null, machines: 0 }],
        },
      };
    if (method === "DELETE")
      return state.import ? { status: 204 } : { status: 404, body: { reason: "not-found", title: "x" } };
    if (method === "GET") return { body: state };
    const { page: sent, isLast } = body as BackupPage;
    return sent === refusedPage
      ? { status: 409, body: { reason: "conflict", title: "No", detail: "3 machines are enrolled here" } }
      : { body: imported(isLast, sent + 1) };
  });
});
afterAll(() => {
  worker.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  worker.asked.length = 0;
  state = { import: null };
  refusedPage = undefined;
  rmSync(file, { force: true });
});
const run = (args: string[], columns?: number) =>
  play(args, { url: worker.url, ...(columns !== undefined && { columns }) });
const sent = () =>
  worker.asked.map(({ method, body }) => `${method} ${(body as BackupPage | null)?.page ?? ""}`);

describe("export", () => {
  it("FILE → all pages, a line each, in a file that nobody else may read", async () => {
    const { code, stdout, stderr } = await run(["export", file]);
    expect([code, stdout, readFileSync(file, "utf8")]).toEqual([0, "", lines(PAGES)]);
    expect(stderr).toMatch(/^.*backup\.jsonl: 3 pages, \d+ bytes\. Keep KID_MAC_KEYS elsewhere as well\.\n$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  it("to a pipe → the same; to a screen → 2, and nothing is asked for", async () => {
    expect(await run(["export"])).toEqual({ code: 0, stdout: lines(PAGES), stderr: "" });
    worker.asked.length = 0;
    const { code, stderr } = await run(["export"], 80);
    expect([code, stderr, worker.asked.length]).toEqual([
      2,
      "rollcall: a backup does not go to a terminal: rollcall export FILE\n",
      0,
    ]);
  });

  it("that fails half-way → 1, and the file from before stays", async () => {
    writeFileSync(file, "yesterday's");
    refusedPage = 2;
    expect((await run(["export", file])).code).toBe(1);
    expect(readFileSync(file, "utf8")).toBe("yesterday's");
  });
});

describe("import", () => {
  it("FILE → each page in turn, then who is not back", async () => {
    writeFileSync(file, lines(PAGES));
    expect(await run(["import", file])).toEqual({
      code: 0,
      stderr: "",
      stdout:
        "the backup b-1 is imported: 3 machines, 0 of them have reported since\n" +
        "Each machine reports again within some minutes. Not yet: edge-1, edge-2, and 1 more\n",
    });
    expect(sent()).toEqual(["GET ", "POST 1", "POST 2", "POST 3", "GET "]);
  });

  it("of a deployment with another origin → says that it is missing", async () => {
    const rows = ["https://old.test", "https://new.test"].map((origin) => ["origin", origin, ""]);
    const about = { ...page(1), table: "deployment", columns: ["what", "name", "check"], rows };
    writeFileSync(file, lines([about, page(2, true)]));
    const { code, stderr } = await run(["import", file]);
    expect([code, stderr]).toEqual([
      0,
      "https://old.test is not in ORIGINS here: the Worker refuses machines that report to it until it is\n",
    ]);
  });

  it("of one that was broken off → goes on; of one that is done → nothing is sent", async () => {
    writeFileSync(file, lines(PAGES));
    state = imported(false, 3);
    await run(["import", file]);
    expect(sent()).toEqual(["GET ", "POST 3", "GET "]);
    worker.asked.length = 0;
    state = imported(true, 4, 3);
    expect((await run(["import", file])).stdout).toBe(
      "the backup b-1 is imported: 3 machines, 3 of them have reported since\n",
    );
    expect(sent()).toEqual(["GET ", "GET "]);
  });

  it("that the Worker refuses → 1, its words, and no further page", async () => {
    writeFileSync(file, lines(PAGES));
    refusedPage = 2;
    const { code, stderr } = await run(["import", file]);
    expect([code, stderr]).toEqual([1, "rollcall: No. 3 machines are enrolled here\n"]);
    expect(sent()).toEqual(["GET ", "POST 1", "POST 2"]);
  });

  it.each<[string, string, RegExp]>([
    ["that ends too early", lines(PAGES.slice(0, 2)), /ends before the backup does/],
    ["that is empty", "", /ends before the backup does/],
    ["whose last line is cut", lines(PAGES).slice(0, -9), /ends before the backup does/],
    ["with a page twice", lines([page(1), page(1)]), /line 2 does not follow/],
    ["of two backups", lines([page(1), { ...page(2, true), id: "b-2" }]), /line 2 does not follow/],
    ["that is something else", "hello\n", /line 1 is no page of a backup$/],
    ["of a newer version", lines([{ ...page(1, true), rollcallBackup: 2 }]), /use a newer rollcall$/],
  ])("a file %s → 2, and nothing is asked", async (_, text, says) => {
    writeFileSync(file, text);
    const { code, stderr } = await run(["import", file]);
    expect([code, stderr.trim()]).toEqual([2, expect.stringMatching(says)]);
    expect(worker.asked).toEqual([]);
  });

  it.each<[string[], number, RegExp]>([
    [["--status"], 0, /^nothing was imported into this deployment\n$/],
    [["--abandon"], 3, /no import is running/],
    [[], 2, /either a FILE, or --status, or --abandon/],
    [["x", "--status"], 2, /either a FILE/],
    [["/nowhere/x"], 2, /cannot be read/],
  ])("%j → %i", async (args, code, says) => {
    const ended = await run(["import", ...args]);
    expect([ended.code, ended.stdout + ended.stderr]).toEqual([code, expect.stringMatching(says)]);
  });

  it("--status and --abandon of one under way", async () => {
    state = imported(false, 2);
    expect((await run(["import", "--status"])).stdout).toBe(
      "the import of the backup b-1 is running: page 2 is next\n",
    );
    expect((await run(["import", "--abandon"])).stdout).toBe(
      "the import is ended, and the Worker keeps nothing of it\n",
    );
  });
});
