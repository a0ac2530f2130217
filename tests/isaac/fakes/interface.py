"""Fakes of `omni.ui` and `omni.kit.menu.utils`: widgets that tests can press and type into."""

from enum import Enum

from tests.isaac.fakes.application import kit


class DockPolicy(Enum):
    DO_NOTHING = 0
    CURRENT_WINDOW_IS_ACTIVE = 1
    TARGET_WINDOW_IS_ACTIVE = 2


class SimpleModel:
    """Stand-in of `omni.ui.AbstractValueModel`."""

    def __init__(self, value):
        self._value, self._changed, self._ended = value, [], []

    @property
    def as_string(self):
        return str(self._value)

    @property
    def as_float(self):
        return float(self._value)

    @property
    def as_int(self):
        return int(self._value)

    @property
    def as_bool(self):
        return bool(self._value)

    def set_value(self, value, /):
        if self._value != value:
            self._value = value
            for function in self._changed:
                kit().guarded(function, self)

    def add_value_changed_fn(self, fn, /):
        self._changed.append(fn)
        return len(self._changed)

    def add_end_edit_fn(self, fn, /):
        self._ended.append(fn)
        return len(self._ended)

    def _type(self, value):
        """Type a value into the field, as a user does."""
        self.set_value(value)
        for function in self._ended:
            kit().guarded(function, self)


class ItemModel:
    """Stand-in of the `omni.ui.AbstractItemModel` of a combo box."""

    def __init__(self, index, names):
        self._names, self._index, self._changed = names, SimpleModel(index), []
        self._index.add_value_changed_fn(self._tell)

    def get_item_value_model(self, item=None, column_id=0):
        return self._index

    def add_item_changed_fn(self, fn, /):
        self._changed.append(fn)
        return len(self._changed)

    def _tell(self, _):
        for function in self._changed:
            kit().guarded(function, self, None)

    def _choose(self, name):
        self._index.set_value(self._names.index(name))


def _given(widget, args, kwargs):
    """Return the constructor arguments of a widget by name, checked against the contract."""
    kinds = [kind.__name__ for kind in type(widget).__mro__]
    keys = [f"{module}:{kind}" for kind in kinds for module in ("omni.ui", "omni.ui.scene")]
    key = next(key for key in keys if key in kit().contract.classes)
    start = kit().contract.member(key, "__init__")
    return start.signature.bind(*args, **kwargs).arguments


class Widget:
    """A widget in the open container; its arguments are checked against the contract."""

    def __init__(self, *args, **kwargs):
        self._settings, self._children = _given(self, args, kwargs), []
        self.visible, self.enabled = self._settings.get("visible", True), self._settings.get("enabled", True)
        if kit().open_containers:
            kit().open_containers[-1]._children.append(self)

    def _all(self):
        """Yield this widget and all its descendants."""
        yield self
        for child in self._children:
            yield from child._all()


class Container(Widget):
    def __enter__(self):
        kit().open_containers.append(self)
        return self

    def __exit__(self, *_):
        kit().open_containers.pop()


class VStack(Container):
    pass


class HStack(Container):
    pass


class ZStack(Container):
    pass


class Frame(Container):
    """A frame whose content is built in the next application frame."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._build, self._stale = self._settings.get("build_fn"), True
        kit().built_frames.append(self)

    def set_build_fn(self, fn, /):
        self._build, self._stale = fn, True

    def rebuild(self):
        self._stale = True

    def clear(self):
        self._children = []

    def _draw(self):
        if self._build is not None and self._stale:
            self._stale, self._children = False, []
            with self:
                kit().guarded(self._build)


class ScrollingFrame(Frame):
    pass


class CollapsableFrame(Frame):
    @property
    def title(self):
        return self._settings.get("title", "")

    @property
    def collapsed(self):
        return self._settings.get("collapsed", False)

    @collapsed.setter
    def collapsed(self, value):
        self._settings["collapsed"] = value


class Label(Widget):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.text = self._settings["text"]


class Button(Widget):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.text = self._settings.get("text", "")

    def _press(self):
        kit().guarded(self._settings["clicked_fn"])


class Image(Widget):
    @property
    def source_url(self):
        return self._settings.get("source_url", "")


class _Field(Widget):
    _empty = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.model = self._settings.get("model") or SimpleModel(self._empty)


class StringField(_Field):
    _empty = ""


class FloatField(_Field):
    _empty = 0.0


class CheckBox(_Field):
    _empty = False


class ComboBox(Widget):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        index, *names = args
        assert all(isinstance(name, str) for name in names), names
        self.model = ItemModel(index, list(names))


class WindowHandle:
    """Stand-in of `omni.ui.WindowHandle`, which Kit returns for any window, including its own."""

    def __init__(self, title):
        self.title, self._visible, self._dock = title, True, title

    @property
    def visible(self):
        return self._visible

    @visible.setter
    def visible(self, value):
        self._visible = value

    @property
    def docked(self):
        return self._dock is not None


class Window(WindowHandle):
    """Stand-in of `omni.ui.Window`."""

    def __init__(self, *args, **kwargs):
        settings = _given(self, args, kwargs)
        self.title, self._visible, self._listener = settings["title"], settings.get("visible", True), None
        self._dock = None
        before, kit().open_containers = kit().open_containers, []
        self.frame = Frame()
        kit().open_containers = before
        kit().windows.append(self)

    @property
    def visible(self):
        return self._visible

    @visible.setter
    def visible(self, value):
        if value != self._visible:
            self._visible = value
            if self._listener is not None:
                kit().guarded(self._listener, value)

    def set_visibility_changed_fn(self, fn, /):
        self._listener = fn

    def deferred_dock_in(self, target_window, active_window=None):
        assert active_window is None or isinstance(active_window, DockPolicy)
        # Docking happens in the next frame, and only if the target window exists.
        kit().at_next_frame.append(lambda: self._dock_in(target_window, active_window))

    def _dock_in(self, target, policy):
        if target not in kit().docks or self not in kit().windows:
            return
        self._dock = target
        if policy is DockPolicy.CURRENT_WINDOW_IS_ACTIVE:
            kit().active_tabs[target] = self.title
        elif policy is DockPolicy.TARGET_WINDOW_IS_ACTIVE:
            kit().active_tabs[target] = target

    def destroy(self):
        if self in kit().windows:
            kit().windows.remove(self)
            kit().built_frames = [
                frame for frame in kit().built_frames if frame not in set(self.frame._all())
            ]

    def _find(self, kind, text=""):
        """Return the widgets of a class whose text or title contains a text."""
        return [
            w
            for w in self.frame._all()
            if isinstance(w, kind) and text in getattr(w, "text", getattr(w, "title", ""))
        ]


class Workspace:
    """Stand-in of `omni.ui.Workspace`: finds windows and calls the registered functions for missing ones."""

    @staticmethod
    def get_window(title, /):
        ours = (window for window in kit().windows if window.title == title)
        return next(ours, kit().docks.get(title))

    @staticmethod
    def set_show_window_fn(title, fn, /):
        if fn is None:
            kit().window_makers.pop(title, None)
        else:
            kit().window_makers[title] = fn

    @staticmethod
    def show_window(title, show=True, /):
        window = Workspace.get_window(title)
        if window is not None:
            window.visible = show
            return True
        if title in kit().window_makers:
            kit().guarded(kit().window_makers[title], show)
        return False


class MenuHelperWindow(Window):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._heard = None
        self.set_visibility_changed_fn(lambda visible: self._heard and self._heard(visible))

    def set_visibility_changed_listener(self, listener):
        self._heard = listener

    def destroy(self):
        self.set_visibility_changed_listener(None)
        super().destroy()


class MenuHelperExtensionFull:
    """Stand-in of the helper that adds a menu entry; the window is only created when the entry is chosen."""

    def menu_startup(
        self, create_window_fn, window_name, menu_desc, menu_group, window_attr_name=None, verbose=False
    ):
        if window_name in kit().menu:
            kit().log.append(("error", f'menu_startup: window "{window_name}" already registered'))
            return None
        self._create, self._entry, self._made = create_window_fn, window_name, None
        self._path = f"{menu_group}/{menu_desc}"
        kit().menu[window_name] = self
        Workspace.set_show_window_fn(window_name, lambda shown: self.show_window(None, shown, 0))
        return 0

    def menu_shutdown(self, index=-1):
        kit().menu.pop(self._entry, None)
        Workspace.set_show_window_fn(self._entry, None)
        if self._made is not None:
            self._made.destroy()
            self._made = None
        return True

    def show_window(self, menu, value, index):
        """Create and show the window, or hide it and destroy it in the next frame."""
        if value:
            self._made = self._create()
            self._made.visible = False
            self._made.set_visibility_changed_listener(self._changed)
            self._made.visible = True
        elif self._made is not None:
            self._made.visible = False

    def _changed(self, visible):
        if not visible:
            kit().at_next_frame.append(self._end)

    def _end(self):
        if self._made is not None:
            self._made.destroy()
            self._made = None
