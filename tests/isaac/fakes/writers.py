"""Fakes of Replicator writers, called for every rendered frame while the timeline plays."""

from pathlib import Path

from tests.isaac.fakes.application import kit
from tests.isaac.fakes.replicator import HydraTexture


class Writer:
    """Stand-in of `omni.replicator.core.Writer`."""

    data_structure = "legacy"
    annotators = ()
    _products = ()
    _every, _age = 1, 0

    def initialize(self, **kwargs):
        # Replicator calls the constructor again with these arguments.
        self.__init__(**kwargs)

    def attach(self, render_products, /, *, trigger=None):
        products = render_products if isinstance(render_products, list) else [render_products]
        for product in products:
            known = product if isinstance(product, HydraTexture) else _product(product)
            assert known in kit().products, "the render product is gone"
        self._products = tuple(products)
        self._every, self._age = trigger.interval if trigger is not None else 1, 0
        kit().writers.append(self)

    def detach(self):
        assert self in kit().writers, "detached twice"
        kit().writers.remove(self)
        self._products = ()

    def write(self, data):
        raise NotImplementedError

    def _frame(self):
        if self._age % self._every == 0:
            self.write({"renderProducts": {}})
        self._age += 1


def _product(path):
    return next((p for p in kit().products if p.path == path), None)


class BasicWriter(Writer):
    """Stand-in of Replicator's image writer; it creates empty files numbered by frame."""

    def __init__(self, output_dir=None, rgb=False, semantic_segmentation=False, bounding_box_2d_tight=False):
        self._folder, self._count = output_dir, 0
        self._outputs = [
            name
            for name, wanted in (
                ("rgb", rgb),
                ("semantic_segmentation", semantic_segmentation),
                ("bounding_box_2d_tight", bounding_box_2d_tight),
            )
            if wanted
        ]

    def write(self, data):
        # Replicator does not resolve a relative folder against the working directory.
        folder = Path(self._folder or "")
        assert folder.is_absolute(), "below omni.replicator_out in the home folder"
        folder.mkdir(parents=True, exist_ok=True)
        for product in self._products:
            name = product.path.rpartition("/")[2]
            for output in self._outputs:
                (folder / f"{name}_{output}_{self._count:04d}").touch()
        self._count += 1


class Trigger:
    """Stand-in of a trigger of `omni.replicator.core.trigger`."""

    def __init__(self, interval):
        assert isinstance(interval, int)
        self.interval = interval


def on_frame(*, interval=1):
    return Trigger(interval)


class WriterRegistry:
    """Stand-in of `omni.replicator.core.WriterRegistry`."""

    @classmethod
    def get(cls, name, /):
        known = {"BasicWriter": BasicWriter} | kit().registered_writers
        if name not in known:
            raise ValueError(f"no writer {name!r} is registered")
        kind = known[name]
        # Created without arguments; `initialize` passes them.
        return kind.__new__(kind)

    @classmethod
    def register(cls, writer, /):
        assert issubclass(writer, Writer)
        assert writer.__name__ not in kit().registered_writers, "registered twice"
        kit().registered_writers[writer.__name__] = writer

    @classmethod
    def unregister_writer(cls, name, /):
        assert isinstance(name, str)
        del kit().registered_writers[name]


def run_writers():
    """Call the writers for a frame."""
    if kit().timeline.is_playing():
        for writer in list(kit().writers):
            for product in writer._products:
                known = product if isinstance(product, HydraTexture) else _product(product)
                assert known in kit().products, "a writer of a render product that is gone"
            kit().guarded(writer._frame)
