// The Worker of `npm start`, out of its state folder: where it listens, and its admin secret.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod/mini";
import { failure, type Result, success } from "../../../shared/result.ts";
import type { FoundContext } from "./found-context.ts";

const stateFile = z.object({ rollcallState: z.literal(1), workerPort: z.int() });

export function localContext(folder: string): Result<FoundContext> {
  const state = stateFile.safeParse(readState(join(folder, "state.json")));
  if (!state.success)
    return failure(
      `--state ${folder}: no local cluster has run there; npm start -- --state ${folder} makes one`,
    );
  return success({
    url: `http://127.0.0.1:${state.data.workerPort}`,
    secretFile: join(folder, "admin-secret"),
    source: "--state",
    takesEnvironment: false,
  });
}

function readState(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return null;
  }
}
