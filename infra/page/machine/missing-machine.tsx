// A name that no enrolled machine has: one that waits for it, or none at all.
import { hrefOf } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";

export function MissingMachine({ name }: { name: string }) {
  const { live } = usePage();
  const waiting = live.pending.value.filter((each) => each.name === name);
  return (
    <article class="machine machine-missing">
      <h1>{name}</h1>
      {waiting.length > 0 ? (
        <div class="machine-diagnosis machine-diagnosis-warning">
          <p class="machine-sentence">
            <StateWord state="pending" /> Waits for an operator since{" "}
            <Time at={waiting[0]?.askedAt} form="absolute" />: another key had the name.
          </p>
          <p>
            <Link href={hrefOf({ view: "approvals" })}>Approvals</Link> shows both machines, to approve or
            reject it.
          </p>
        </div>
      ) : (
        <div class="machine-diagnosis machine-diagnosis-off">
          <p class="machine-sentence">
            No machine has this name: it never enrolled, or it has left or was forgotten.
          </p>
          <SearchFleet name={name} />
        </div>
      )}
    </article>
  );
}

function SearchFleet({ name }: { name: string }) {
  const { go } = usePage();
  const search = (event: SubmitEvent) => {
    event.preventDefault();
    const typed = new FormData(event.currentTarget as HTMLFormElement).get("q");
    if (typeof typed === "string") go(hrefOf({ view: "fleet" }, { q: typed.trim() }));
  };
  return (
    <form class="row" role="search" onSubmit={search}>
      <label for="machine-search">Search the fleet:</label>
      <input id="machine-search" name="q" type="search" defaultValue={name} />
      <button type="submit">Search</button>
    </form>
  );
}
