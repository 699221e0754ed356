// Draws the audit logs: actions of operators, changes by machines, and refused enrolments.
import { useState } from "preact/hooks";
import type { AuditAnswer, AuditEntry } from "../../../shared/protocol/operator-answers.ts";
import { hrefOf, withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { Answered, useAnswer } from "../parts/answer.tsx";
import { Field } from "../parts/form.tsx";
import { Link } from "../parts/link.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { auditWords, shortId } from "./audit-words.ts";

const LOGS = [
  ["operators", "Operators’ actions"],
  ["machines", "Changes by machines"],
  ["refusals", "Refused enrolments"],
] as const;
const PAGE = 100;

export function AuditView() {
  const { route, go } = usePage();
  const { rest } = route.value;
  const by = LOGS.find(([log]) => log === rest.get("by"))?.[0] ?? "operators";
  const target = rest.get("target") ?? "";
  const before = rest.get("before");
  const answer = useAnswer<AuditAnswer>("/v1/audit", {
    by,
    target: target || undefined,
    before,
    limit: String(PAGE),
  });
  const place = (changes: Record<string, string | undefined>) =>
    withRest(route.value, { before: undefined, ...changes });
  return (
    <div class="stack">
      <h1>Audit</h1>
      <nav class="row tabs" aria-label="Logs">
        {LOGS.map(([log, title]) => (
          <Link key={log} href={place({ by: log })} isCurrent={log === by}>
            {title}
          </Link>
        ))}
      </nav>
      <Target key={target} target={target} onChange={(name) => go(place({ target: name }), "replace")} />
      <Answered answer={answer} what="The audit log could not be read">
        {({ entries }) => (
          <>
            <Entries entries={entries} />
            <nav class="row" aria-label="Pages">
              {before !== undefined && <Link href={place({})}>Newest</Link>}
              {entries.length === PAGE && (
                <Link href={place({ before: String(entries.at(-1)?.id) })}>Older</Link>
              )}
            </nav>
          </>
        )}
      </Answered>
    </div>
  );
}

function Target({ target, onChange }: { target: string; onChange: (name: string) => void }) {
  const [text, setText] = useState(target);
  return (
    <form
      class="row fields-end"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onChange(text.trim());
      }}
    >
      <Field label="Filter by machine or token" value={text} onChange={setText} placeholder="edge-1" />
      <button type="submit">Show</button>
    </form>
  );
}

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: "When", class: "unbroken", cell: ({ at }) => <Time at={at} form="absolute" /> },
  { head: "Who", class: "wrap", cell: ({ who }) => <Ids text={who} /> },
  { head: "What", class: "unbroken", cell: ({ what }) => <span title={what}>{auditWords(what)}</span> },
  {
    head: "To what",
    class: "wrap",
    cell: ({ what, target }) =>
      /^(machine|node)\./.test(what) && target !== "" ? (
        <Link href={hrefOf({ machine: target })}>{target}</Link>
      ) : (
        <span title={target}>{shortId(target)}</span>
      ),
  },
  { head: "Detail", class: "wrap", cell: ({ detail }) => <Ids text={detail} /> },
];

/** Draws a text with its IDs shortened. The tooltip has the whole text. */
const Ids = ({ text }: { text: string }) => (
  <span title={text}>{text.split(" ").map(shortId).join(" ")}</span>
);

function Entries({ entries }: { entries: readonly AuditEntry[] }) {
  return (
    <CardTable
      label="Entries"
      rows={entries}
      columns={COLUMNS}
      keyOf={({ id }) => id}
      none="The log has no such entry."
    />
  );
}
