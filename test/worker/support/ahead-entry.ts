// Runs the Worker with a clock that a benchmark sets ahead, so that a step of ten seconds is due at once.
// Everything else is the Worker itself. This file has no test of its own.
import type { Environment } from "../../../worker/env.ts";
import worker from "../../../worker/index.ts";

export * from "../../../worker/index.ts";

// The clock of all objects, which run in this one isolate.
const clock = { aheadMs: 0 };
const realNow = Date.now.bind(Date);
Date.now = () => realNow() + clock.aheadMs;

// oxlint-disable-next-line import/no-default-export -- a Worker's entry is its module's default export
export default {
  fetch(request: Request, env: Environment, context: ExecutionContext): Response | Promise<Response> {
    const [, ms] = /^\/ahead\/(\d+)$/.exec(new URL(request.url).pathname) ?? [];
    if (ms === undefined) return worker.fetch(request, env, context);
    clock.aheadMs += Number(ms);
    return new Response(null, { status: 204 });
  },
};
