"""The public kit: conformance suites, a state machine and fault injection for adapters.

It needs pytest and hypothesis, which are no dependencies of Mnemic: people who test adapters have them, and the extra
`dev` brings them. Start at `mnemic.testing.conformance`.
"""

from pkgutil import iter_modules

import pytest

# So that a failing assertion of the suite shows its values, as it does in a test file.
pytest.register_assert_rewrite(*(f"{__name__}.{module.name}" for module in iter_modules(__path__)))
