"""A chat in OpenAI's protocol with no language model behind it: messages become a state, a state becomes an answer."""
