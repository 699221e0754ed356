// The directives of strategic merge patches (`$patch` and others).

/** `"$patch": "delete"` or `"replace"` deletes or replaces the object that it stands in. */
export const DIRECTIVE = "$patch";
/** `$deleteFromPrimitiveList/finalizers` lists what to remove from a list of scalars. */
export const DELETE_FROM_LIST = "$deleteFromPrimitiveList";
/** `$setElementOrder/conditions` lists the order that a merged list shall have. */
export const SET_ELEMENT_ORDER = "$setElementOrder";
