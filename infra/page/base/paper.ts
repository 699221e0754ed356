// When the page is put on paper. Draws nothing.

/**
 * Calls `act` before the page is laid out for paper, and when that is over; what it has drawn anew at once is on the paper. A
 * browser tells of the medium too late for that, but where it only shows how the page would look on paper.
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
