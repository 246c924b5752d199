"""The unit of work of both stores: every port over one transaction, created on first use."""

from typing import Generic, TypeVar

from mnemic.adapters.stores.checks import lazy_port
from mnemic.adapters.stores.sql import records
from mnemic.adapters.stores.sql.dependants import SqlDependants, SqlErasure
from mnemic.adapters.stores.sql.documents import SqlDocuments, SqlResearchSteps
from mnemic.adapters.stores.sql.graph import SqlGraph
from mnemic.adapters.stores.sql.items import SqlConversations, SqlMemories, SqlMessages
from mnemic.adapters.stores.sql.session import SqlSession
from mnemic.adapters.stores.sql.vectors import SqlPartitions, SqlVectors

SessionT = TypeVar("SessionT", bound=SqlSession)


class SqlWork(Generic[SessionT]):
    """The unit of work except `entity_vectors`, whose comparison is the store's own."""

    partitions = lazy_port(SqlPartitions)
    messages = lazy_port(SqlMessages)
    conversations = lazy_port(SqlConversations)
    upkeep = lazy_port(records.SqlUpkeep)
    memories = lazy_port(SqlMemories)
    documents = lazy_port(SqlDocuments)
    graph = lazy_port(SqlGraph)
    vectors = lazy_port(SqlVectors)
    jobs = lazy_port(records.SqlJobs)
    history = lazy_port(records.SqlHistory)
    profiles = lazy_port(records.SqlProfiles)
    keys = lazy_port(records.SqlKeys)
    tokens = lazy_port(records.SqlTokens)
    audit = lazy_port(records.SqlAudit)
    requests = lazy_port(records.SqlRequests)
    contexts = lazy_port(records.SqlContexts)
    research = lazy_port(SqlResearchSteps)
    erasure = lazy_port(SqlErasure)
    dependants = lazy_port(SqlDependants)

    def __init__(self, transaction: SessionT) -> None:
        self.transaction = transaction
