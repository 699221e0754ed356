// Tests the limits of a trial of rules on all machines, whose pages a server could send without end.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RulesTrial } from "../../../../shared/protocol/rules.ts";
import { tryRules } from "../../../../infra/operator/rules/trial.ts";
import type { OperatorProgram } from "../../../../infra/operator/operator-program.ts";
import { type FakeWorker, fakeWorker } from "../played.ts";

const PROGRAM = { surroundings: {} } as OperatorProgram;
const pageOf = (next: string | null): RulesTrial => ({ machines: 50, changes: [], failed: [], next });
const LAST = pageOf(null);
const PAGES = [pageOf("edge-50"), pageOf("edge-99"), LAST];
const sizeOf = (pages: object[]) => pages.reduce((sum, page) => sum + JSON.stringify(page).length, 0);

describe("a trial", () => {
  let pages: RulesTrial[];
  let worker: FakeWorker;
  beforeAll(async () => {
    worker = await fakeWorker(() => ({ body: pages.shift() }));
  });
  afterAll(() => worker.close());

  it.each([
    ["as many characters as may", { machines: 1000, characters: sizeOf(PAGES) }, 150],
    ["one more", { machines: 1000, characters: sizeOf(PAGES) - 1 }, "change fewer objects at once"],
    ["as many machines as may", { machines: 101, characters: 1e6 }, 150],
    ["as many machines as may, and a next page", { machines: 100, characters: 1e6 }, "does not end"],
  ])("of %s", async (_, most, end) => {
    pages = [...PAGES];
    const tried = await tryRules(PROGRAM, { url: worker.url, headers: {} }, [], most);
    if (typeof end === "number") expect(tried).toMatchObject({ ok: true, value: { machines: end } });
    else expect(tried).toMatchObject({ ok: false, error: { message: expect.stringContaining(end) } });
  });

  it("of a page with more machines than a call takes arguments", async () => {
    const failed = Array.from({ length: 200_000 }, () => ({ name: "m", reason: "" }));
    pages = [{ ...LAST, failed }];
    const tried = await tryRules(PROGRAM, { url: worker.url, headers: {} }, []);
    expect(tried.ok && tried.value.failed.length).toBe(failed.length);
  });
});
