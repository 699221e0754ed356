// Lists the keys that are refused for ever. Changes nothing.
import type { RevocationsAnswer } from "../../shared/protocol/administration-answers.ts";
import type { RevocationsQuery } from "../../shared/protocol/administration-api.ts";

type Row = { thumbprint: string; name: string; left_at_ms: number; why: string };

/** A page of them, newest first. */
export function listRevocations(sql: SqlStorage, { after, limit }: RevocationsQuery): RevocationsAnswer {
  const [atMs, thumbprint] = after?.split(".") ?? [];
  const rows = sql
    .exec<Row>(
      `SELECT * FROM tombstones WHERE (left_at_ms, thumbprint) < (?, ?)
       ORDER BY left_at_ms DESC, thumbprint DESC LIMIT ?`,
      atMs === undefined ? Number.MAX_SAFE_INTEGER : Number(atMs),
      thumbprint ?? "",
      limit,
    )
    .toArray();
  const last = rows.length === limit ? rows.at(-1) : undefined;
  return {
    revocations: rows.map(({ left_at_ms, ...row }) => ({ ...row, at: new Date(left_at_ms).toISOString() })),
    next: last ? `${last.left_at_ms}.${last.thumbprint}` : null,
  };
}
