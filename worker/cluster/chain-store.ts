// Keeps chains in SQLite, a row for each, their tokens sealed. Two are kept, so that two versions of the Worker with
// different secrets, or a rollback, find their own.
import type { ChainStore, KeptChain, RenewalFailure } from "./kept-chain.ts";
import type { Sealer } from "../storage/sealed-text.ts";

const KEPT_CHAINS = 2;

type Row = { sealed_token: string | null; failure: string | null };

export function chainStore(
  sql: SqlStorage,
  chain: string,
  { seal, open }: Sealer,
  nowMs: () => number, // typically currentMs
): ChainStore {
  let known: KeptChain | undefined;

  async function load(): Promise<KeptChain> {
    const query = "SELECT sealed_token, failure FROM token_chains WHERE chain = ?";
    const row = sql.exec<Row>(query, chain).toArray()[0];
    const token = row?.sealed_token == null ? null : await open(row.sealed_token);
    return {
      ...(token !== null && { token }),
      ...(row?.failure != null && { failure: JSON.parse(row.failure) as RenewalFailure }),
    };
  }

  return {
    read: async () => (known ??= await load()),
    async write(next) {
      const sealed = next.token === undefined ? null : await seal(next.token);
      const failure = next.failure === undefined ? null : JSON.stringify(next.failure);
      known = next;
      sql.exec(
        `INSERT INTO token_chains VALUES (?, ?, ?, ?) ON CONFLICT (chain) DO UPDATE SET
         written_at_ms = excluded.written_at_ms, sealed_token = excluded.sealed_token, failure = excluded.failure`,
        chain,
        nowMs(),
        sealed,
        failure,
      );
      sql.exec(
        `DELETE FROM token_chains WHERE chain <> ? AND chain NOT IN
         (SELECT chain FROM token_chains WHERE chain <> ? ORDER BY written_at_ms DESC LIMIT ?)`,
        chain,
        chain,
        KEPT_CHAINS - 1,
      );
    },
  };
}
