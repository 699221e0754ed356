// Tests that the platform counts failures as wrangler.toml configures it, and that the Worker's code has the same
// limit.
import { expect, it } from "vitest";
// oxlint-disable-next-line import/default -- with ?raw the bundler exports the text
import wrangler from "../../../wrangler.toml?raw";
import { FAILURE_LIMIT } from "../../../worker/http/failure-limits.ts";

it("the limit of failures equals the one in wrangler.toml", () => {
  const [, limit, period] =
    /name = "FAILURES"[^[]*simple = \{ limit = (\d+), period = (\d+) \}/.exec(wrangler) ?? [];
  expect(FAILURE_LIMIT).toEqual({ failures: Number(limit), seconds: Number(period) });
});
