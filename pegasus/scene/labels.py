"""Semantic labels of prims: the UsdSemantics schema and the older one of Isaac Sim."""

from pxr import Usd

from pegasus.scene.stage import TIME


def labels_of(prim: Usd.Prim, inherited: dict[str, str]) -> dict[str, str]:
    """Return the labels of a prim by taxonomy; its own win over those of its ancestors.

    Args:
        prim: A prim.
        inherited: Labels of its parent.
    """
    own = own_labels(prim)
    return {**inherited, **own} if own else inherited


def own_labels(prim: Usd.Prim) -> dict[str, str]:
    """Return the labels that a prim carries itself, by taxonomy.

    Args:
        prim: A prim.
    """
    own: dict[str, str] = {}
    for attribute in prim.GetAuthoredPropertiesInNamespace("semantic"):
        # semantic:<instance>:params:semanticData holds the label, semanticType beside it the taxonomy.
        if (name := attribute.GetName()).endswith(":semanticData"):
            kind = prim.GetAttribute(name.removesuffix("Data") + "Type")
            own[(kind.Get(TIME) if kind else None) or "class"] = str(attribute.Get(TIME))
    for attribute in prim.GetAuthoredPropertiesInNamespace("semantics:labels"):
        own[attribute.GetBaseName()] = ",".join(attribute.Get(TIME) or ())
    return own
