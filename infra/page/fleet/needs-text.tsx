// Small parts of what needs somebody: what to do on a fold, times of the day, ways to the table.
import type { ComponentChildren } from "preact";
import { useComputed, useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { absolute } from "../base/relative-time.ts";
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { clockText } from "./needs-words.ts";

interface CureFoldProps {
  /** About what it is, for who cannot see beside what it stands. */
  of: string;
  /** What to do; null: there is nothing to say. */
  cure: ComponentChildren;
  /** Why. */
  children: ComponentChildren;
}

/** Three cells of a line: why, a button, and below them what to do once that is pressed. */
export function CureFold({ of, cure, children }: CureFoldProps) {
  const isOpen = useSignal(false);
  const id = useId();
  const why = <span class="needs-why">{children}</span>;
  if (cure === null) return why;
  return (
    <>
      {why}
      <button
        type="button"
        class="plain needs-todo"
        aria-expanded={isOpen.value}
        aria-controls={id}
        aria-label={`What to do about ${of}`}
        onClick={() => (isOpen.value = !isOpen.value)}
      >
        What to do
      </button>
      <div class="needs-cure" id={id} hidden={!isOpen.value}>
        {isOpen.value && cure}
      </div>
    </>
  );
}

/** `14:03`, and on the pointer when exactly. */
export function ClockTime({ atMs }: { atMs: number }) {
  const { clock } = usePage();
  const text = useComputed(() => clockText(atMs, clock.value));
  return (
    <time dateTime={new Date(atMs).toISOString()} title={absolute(atMs)}>
      {text}
    </time>
  );
}

interface TableLinkProps {
  /** Of the fleet's URL; what else filters the table is taken away. */
  shows: Readonly<Record<string, string>>;
  children: ComponentChildren;
}

/** Has the table show these, and goes there. */
export function TableLink({ shows, children }: TableLinkProps) {
  const { route } = usePage();
  const all = { q: undefined, state: undefined, outage: undefined, page: undefined, ...shows };
  const toTable = () => document.querySelector(".counts")?.scrollIntoView({ block: "start" });
  return (
    <Link href={withRest(route.value, all)} onOpen={toTable}>
      {children}
    </Link>
  );
}
