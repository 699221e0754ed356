// Links to the numbered pages of a table.
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { type FleetQuery, restOf } from "./fleet-query.ts";
import { pageCount, pageNumbers } from "./windowing.ts";

export function PagesLinks({ query, count }: { query: FleetQuery; count: number }) {
  const { route } = usePage();
  const last = pageCount(count);
  const current = Math.min(query.page, last);
  const hrefOfPage = (page: number) => withRest(route.value, restOf({ ...query, page }));
  return (
    <nav class="fleet-pages" aria-label="Pages of the table">
      {current > 1 ? (
        <Link href={hrefOfPage(current - 1)}>Previous</Link>
      ) : (
        <span class="quiet">Previous</span>
      )}
      {pageNumbers(count, current).map((page, at) =>
        page === null ? (
          <span key={`gap-${at}`} class="quiet">
            …
          </span>
        ) : (
          <Link key={page} href={hrefOfPage(page)} isCurrent={page === current}>
            {page}
          </Link>
        ),
      )}
      {current < last ? <Link href={hrefOfPage(current + 1)}>Next</Link> : <span class="quiet">Next</span>}
    </nav>
  );
}
