// Reports when the page is printed.

/**
 * Calls `act` before the browser lays the page out for paper, and after printing. The paper has all changes that
 * `act` makes at once. The media query alone would report too late, except in a print preview.
 */
export function watchPaper(act: (isPaper: boolean) => void): () => void {
  const media = matchMedia("print");
  const change = () => act(media.matches);
  const before = () => act(true);
  const after = () => act(false);
  media.addEventListener("change", change);
  addEventListener("beforeprint", before);
  addEventListener("afterprint", after);
  return () => {
    media.removeEventListener("change", change);
    removeEventListener("beforeprint", before);
    removeEventListener("afterprint", after);
  };
}
