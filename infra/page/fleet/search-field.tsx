// Draws the search field. Its text goes into the URL a moment after the last key.
import { useEffect, useRef } from "preact/hooks";
import { SEARCH_EXAMPLES } from "../../../shared/fleet/search-language.ts";
import { later } from "../base/clock.ts";
import { withRest } from "../base/places.ts";
import { usePage } from "../page.ts";
import { type FleetQuery, restOf } from "./fleet-query.ts";
import { FleetMenu } from "./fleet-menu.tsx";

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
    go(withRest(route.peek(), restOf({ ...query, text })), "replace");
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
        placeholder="Search: not ready, berlin, site=berlin"
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
  [
    SEARCH_EXAMPLES.text,
    "words in name, state, reason, addresses, labels’ values or versions; * for any text in a whole name or address",
  ],
  [SEARCH_EXAMPLES.selector, "by labels, as with kubectl -l; also zone in (a,b), !gpu, slots>4"],
  [SEARCH_EXAMPLES.state, "in one of these states"],
  [SEARCH_EXAMPLES.condition, "True; also !Ready, Ready=Unknown"],
  [SEARCH_EXAMPLES.version, "of the shim; also >=0.1.0,!=0.1.3"],
  [SEARCH_EXAMPLES.address, "reporting from there"],
  [SEARCH_EXAMPLES.beside, "reporting from the same address as this machine"],
  [SEARCH_EXAMPLES.phase, "by the last answer to it"],
  [SEARCH_EXAMPLES.token, "enrolled with this join token"],
  [SEARCH_EXAMPLES.unused, "that never reported with their key"],
  [SEARCH_EXAMPLES.since, "in their state for at most 2 hours; also a time; until: for longer"],
];

function SearchHelp() {
  return (
    <FleetMenu title="How to search" word="?">
      <p>A machine must match all words and terms.</p>
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
