// Draws the search field. Its text goes into the URL a moment after the last key.
import { useEffect, useRef } from "preact/hooks";
import { later } from "../base/clock.ts";
import { withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { type FleetQuery, restOf } from "./fleet-query.ts";
import { FleetMenu } from "./fleet-menu.tsx";
import { EXAMPLES } from "./search-fields.ts";

/** Milliseconds from the last key until the URL changes. Browsers allow few changes of the URL in a short time. */
const TYPED_MS = 150;

export const SEARCH_ID = "fleet-search";
export const SEARCH_FAULT_ID = "fleet-search-fault";

export function SearchField({ query, isFaulty }: { query: FleetQuery; isFaulty: boolean }) {
  const { go, route } = usePage();
  const field = useRef<HTMLInputElement>(null);
  const callOff = useRef(() => {});
  const sent = useRef(query.text);
  const send = () => {
    callOff.current();
    const text = field.current?.value ?? "";
    if (text === sent.current) return;
    sent.current = text;
    go(withRest(route.peek(), restOf({ ...query, text, page: 1 })), "replace");
  };
  // The field follows the URL when the operator goes back.
  useEffect(() => {
    if (!field.current || query.text === sent.current) return;
    field.current.value = query.text;
    sent.current = query.text;
  }, [query.text]);
  useEffect(() => () => callOff.current(), []);
  const onInput = () => {
    callOff.current();
    callOff.current = later(send, TYPED_MS);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") send();
    if (event.key !== "Escape") return;
    // Browsers clear a search field on Escape. Here the key only leaves the field, which keeps its text.
    event.preventDefault();
    send();
    field.current?.blur();
  };
  return (
    <search class="fleet-search">
      <label for={SEARCH_ID} class="visually-hidden">
        Search machines
      </label>
      <input
        ref={field}
        id={SEARCH_ID}
        type="search"
        defaultValue={query.text}
        placeholder="Search: berlin, site=berlin, version:<0.2.0"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={isFaulty}
        aria-describedby={isFaulty ? SEARCH_FAULT_ID : undefined}
        onInput={onInput}
        onKeyDown={onKeyDown}
      />
      <SearchHelp />
    </search>
  );
}

const HELP: readonly [example: string, finds: string][] = [
  [EXAMPLES.text, "somewhere in name, addresses, labels’ values or versions"],
  [EXAMPLES.selector, "by labels, as with kubectl -l; also zone in (a,b), !gpu, slots>4"],
  [EXAMPLES.state, "in one of these states"],
  [EXAMPLES.condition, "True; also !Ready, Ready=Unknown"],
  [EXAMPLES.version, "of the shim; also >=0.1.0,!=0.1.3"],
  [EXAMPLES.address, "reporting from there"],
  [EXAMPLES.beside, "reporting from the same address as this machine"],
  [EXAMPLES.phase, "by the last answer to it"],
  [EXAMPLES.token, "enrolled with this join token"],
  [EXAMPLES.unused, "that never reported with their key"],
  [EXAMPLES.since, "in their state since after then; until: before"],
];

function SearchHelp() {
  return (
    <FleetMenu title="How to search" word="?">
      <p>All terms have to hold. Several words are looked for as they stand.</p>
      <dl class="fleet-examples">
        {HELP.map(([example, finds]) => (
          <div key={example}>
            <dt>
              <code>{example}</code>
            </dt>
            <dd>{finds}</dd>
          </div>
        ))}
      </dl>
    </FleetMenu>
  );
}
