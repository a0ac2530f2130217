"""Labels of images: classes, ids, boxes, masks and occlusion."""
