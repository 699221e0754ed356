// Draws the saved views of this browser, and a form that saves the present view: search, columns, groups and order.
// Loaded on demand.
import { useState } from "preact/hooks";
import { hrefOf } from "../base/places.ts";
import { usePage } from "../page.ts";
import { Field } from "../parts/form.tsx";
import { Link } from "../parts/link.tsx";
import { columnsText, type FleetColumn } from "./columns.ts";

/** A view is a link to the fleet, so that an operator can also send it to another operator. */
interface SavedView {
  name: string;
  href: string;
}

/** The most views, and the most characters of a name. */
const MOST_VIEWS = 50;
const NAME_LENGTH = 60;
const KEPT = "views";

export function SavedViews({ columns }: { columns: readonly FleetColumn[] }) {
  const { preferences, route } = usePage();
  const [views, setViews] = useState(() => savedViews(preferences.get(KEPT)));
  const [name, setName] = useState("");
  const present = hrefOf(
    { view: "fleet" },
    { ...Object.fromEntries(route.value.rest), columns: columnsText(columns) },
  );
  const keep = (changed: SavedView[]) => {
    preferences.set(KEPT, JSON.stringify(changed));
    setViews(changed);
  };
  const save = (event: SubmitEvent) => {
    event.preventDefault();
    if (name.trim() === "") return;
    keep(withView(views, { name: name.trim().slice(0, NAME_LENGTH), href: present }));
    setName("");
  };
  return (
    <div class="stack fleet-views">
      {views.length === 0 ? (
        <p class="quiet">A view is a search with its columns, groups and order. This browser keeps it.</p>
      ) : (
        <ul class="fleet-choices">
          {views.map((view) => (
            <li key={view.name} class="row spread">
              <Link href={view.href} isCurrent={view.href === present}>
                {view.name}
              </Link>
              <button
                type="button"
                class="plain"
                aria-label={`Delete the view ${view.name}`}
                onClick={() => keep(views.filter((each) => each !== view))}
              >
                ✕
              </button>
            </li>
          ))}
        </ul>
      )}
      <form class="row fields-end" onSubmit={save}>
        <Field label="Name of the present view" value={name} onChange={setName} />
        <button type="submit" disabled={name.trim() === ""}>
          Save
        </button>
      </form>
    </div>
  );
}

/** Parses the kept views. Leaves out what is not a view: another version of the page may have kept it. */
export function savedViews(kept: string | null): SavedView[] {
  try {
    const parsed: unknown = JSON.parse(kept ?? "[]");
    return Array.isArray(parsed) ? parsed.filter(isView) : [];
  } catch {
    return [];
  }
}

function isView(value: unknown): value is SavedView {
  const { name, href } = (value ?? {}) as Partial<Record<string, unknown>>;
  // Only addresses of this page: another script of this origin may write to the browser's storage.
  return typeof name === "string" && typeof href === "string" && /^\/(\?|$)/.test(href);
}

/** Returns the views by name, with this view in place of one with the same name. The oldest views leave first. */
export function withView(views: readonly SavedView[], view: SavedView): SavedView[] {
  const others = views.filter(({ name }) => name !== view.name).slice(1 - MOST_VIEWS);
  return [...others, view].sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}
