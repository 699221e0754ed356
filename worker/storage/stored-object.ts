// What every Durable Object of the Worker is: one whose stored state has a version.
import { DurableObject } from "cloudflare:workers";
import type { Environment } from "../env.ts";
import { stateVersion } from "./migrations.ts";

export abstract class StoredObject extends DurableObject<Environment> {
  /** For GET /readyz: of what it has stored; null: nothing yet. */
  stateVersion(): number | null {
    return stateVersion(this.ctx.storage.sql);
  }
}
