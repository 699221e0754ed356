// The directives of strategic merge patches (`$patch` and others).

/** `"$patch": "delete"` or `"replace"` deletes or replaces the object that has it. */
export const DIRECTIVE = "$patch";
/** `$deleteFromPrimitiveList/finalizers` lists the items to remove from a list of scalars. */
export const DELETE_FROM_LIST = "$deleteFromPrimitiveList";
/** `$setElementOrder/conditions` lists the order of a merged list. */
export const SET_ELEMENT_ORDER = "$setElementOrder";
