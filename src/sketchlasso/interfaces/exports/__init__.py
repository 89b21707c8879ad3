"""Topics as files: tables, JSON, pictures, and one page that works offline."""

from sketchlasso.interfaces.exports.folder import export_topics, topic_data

__all__ = ["export_topics", "topic_data"]
