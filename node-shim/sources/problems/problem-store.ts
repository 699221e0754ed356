// Stores the conditions of the monitors in the state folder, which a restart of the shim therefore does not end.
// The next boot does: the stored conditions belong to a boot ID.
import { join } from "node:path";
import * as z from "zod/mini";
import { parseJson, readIfThere, replacedFile } from "../../base/state-file.ts";
import type { StoredMonitor } from "./monitor.ts";

const storedSchema = z.object({
  bootID: z.string(),
  /** Milliseconds since 1970. */
  atMs: z.number(),
  monitors: z.record(
    z.string(),
    z.object({
      throughMs: z.number(),
      conditions: z.record(
        z.string(),
        z.object({
          status: z.enum(["True", "False", "Unknown"]),
          reason: z.string(),
          message: z.string(),
          agedMs: z.number(),
          // Earlier shims stored neither.
          mark: z._default(z.string(), ""),
          subjects: z._default(
            z.record(z.string(), z.object({ reason: z.string(), message: z.string() })),
            {},
          ),
        }),
      ),
    }),
  ),
});

export interface ProblemStore {
  /** Returns what was stored in this boot, by the path of the monitor's file. */
  read: () => ReadonlyMap<string, StoredMonitor>;
  write: (monitors: Record<string, StoredMonitor>) => void;
}

const GIVE_UP_MS = 2000;

export function problemStore(
  stateFolder: string,
  bootID: string,
  wallMs: () => number,
  warn: (message: string) => void,
): ProblemStore {
  const path = join(stateFolder, "problems.json");
  let file: ReturnType<typeof replacedFile> | undefined;
  return {
    read() {
      const parsed = storedSchema.safeParse(parseJson(readIfThere(path) ?? ""));
      if (!parsed.success || parsed.data.bootID !== bootID) return new Map();
      const awayMs = Math.max(0, wallMs() - parsed.data.atMs);
      return new Map(
        Object.entries(parsed.data.monitors).map(([name, { throughMs, conditions }]) => [
          name,
          {
            throughMs,
            conditions: Object.fromEntries(
              Object.entries(conditions).map(([type, each]) => [
                type,
                { ...each, agedMs: each.agedMs + awayMs },
              ]),
            ),
          },
        ]),
      );
    },
    write(monitors) {
      file ??= replacedFile(path, { mode: 0o600, giveUpMs: GIVE_UP_MS, durably: true });
      const text = JSON.stringify({ bootID, atMs: wallMs(), monitors });
      void file.write(text).then((fault) => {
        if (fault !== null) warn(`${fault}: a restart of the shim would end the conditions`);
      });
    },
  };
}
