// The sections, to jump to: at the side on wide screens, folded on narrow ones.
import { usePage } from "../page.ts";
import type { MachineDiagnosis } from "./diagnosis-types.ts";
import { MACHINE_SECTIONS, type SectionId } from "./sections.ts";
import { goToSection } from "./use-machine-keys.ts";

export function SectionNav({ diagnosis }: { diagnosis: MachineDiagnosis | null }) {
  const list = <SectionLinks diagnosis={diagnosis} />;
  return (
    <>
      <nav class="machine-nav machine-nav-side" aria-label="Sections">
        {list}
      </nav>
      <details class="machine-nav machine-nav-folded">
        <summary>Sections</summary>
        <nav aria-label="Sections">{list}</nav>
      </details>
    </>
  );
}

function SectionLinks({ diagnosis }: { diagnosis: MachineDiagnosis | null }) {
  const { session } = usePage();
  const jump = (event: MouseEvent, id: SectionId) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goToSection(id);
  };
  return (
    <ul>
      {MACHINE_SECTIONS.filter(({ id }) => id !== "actions" || session.isAdmin()).map(
        ({ id, title, key }) => (
          <li key={id}>
            <a href={`#${id}`} title={`Key: ${key}`} onClick={(event) => jump(event, id)}>
              {title}
              {id === "conditions" && diagnosis?.isConditionWrong && (
                <span class="machine-flag" title="a condition is not as it should be">
                  !
                </span>
              )}
            </a>
          </li>
        ),
      )}
    </ul>
  );
}
